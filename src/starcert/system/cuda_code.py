"""Code in CUDA C, compiled when it is first used: by NVRTC, which comes with torch, for the device that is there."""

from __future__ import annotations

import ctypes
from functools import cache

import torch

__all__ = ["CudaFunction", "cuda_function"]


class CudaFunction:
    """A function that runs on a CUDA device.

    Args:
        source: CUDA C, without headers; the function is `extern "C"`.
        name: what it is called there.
        device: where it shall run.
    """

    def __init__(self, source: str, name: str, device: torch.device) -> None:
        self._device = device
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        with torch.cuda.device(device):
            binary = _compiled(source, torch.cuda.get_device_capability(device))
            _check(_driver().cuModuleLoadData(ctypes.byref(module), binary), "loaded")
            _check(_driver().cuModuleGetFunction(ctypes.byref(self._function), module, name.encode()), "found")

    def __call__(self, blocks: tuple[int, int], threads: int, arguments: list[torch.Tensor | int]) -> None:
        """Runs it: so many blocks of so many threads, with tensors as pointers and numbers as int."""
        values = [
            ctypes.c_void_p(each.data_ptr()) if isinstance(each, torch.Tensor) else ctypes.c_int(each)
            for each in arguments
        ]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        with torch.cuda.device(self._device):
            stream = ctypes.c_void_p(torch.cuda.current_stream(self._device).cuda_stream)
            size = (*blocks, 1, threads, 1, 1)
            _check(_driver().cuLaunchKernel(self._function, *size, 0, stream, pointers, None), "run")


@cache
def cuda_function(source: str, name: str, device: torch.device) -> CudaFunction | None:
    """A function, compiled once; None where it cannot be had: there is no compiler, or it does not know the device."""
    if torch.version.cuda is None:
        return None
    try:
        return CudaFunction(source, name, device)
    except (OSError, RuntimeError):
        return None


@cache
def _compiler() -> ctypes.CDLL:
    return ctypes.CDLL(f"libnvrtc.so.{(torch.version.cuda or '').partition('.')[0]}")


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _check(error: int, what: str) -> None:
    if error:
        raise RuntimeError(f"CUDA code could not be {what}: error {error}")


def _compiled(source: str, capability: tuple[int, int]) -> ctypes.Array[ctypes.c_char]:
    nvrtc, program, size = _compiler(), ctypes.c_void_p(), ctypes.c_size_t()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"starcert.cu", 0, None, None), "read")
    options = (ctypes.c_char_p * 1)(f"--gpu-architecture=sm_{capability[0]}{capability[1]}".encode())
    if error := nvrtc.nvrtcCompileProgram(program, 1, options):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"CUDA code could not be compiled: error {error}: {log.value.decode()}")
    _check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "written")
    binary = ctypes.create_string_buffer(size.value)
    _check(nvrtc.nvrtcGetCUBIN(program, binary), "written")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return binary
