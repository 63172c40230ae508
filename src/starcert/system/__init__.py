"""Services of the machine that starcert runs on: files and their locks, memory, processes, the terminal."""
