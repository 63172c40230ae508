"""The engine: numbers only. It never hears of graphs, files, devices or terminals."""
