"""The engine: numbers only. It knows nothing about graphs, files, devices or terminals."""
