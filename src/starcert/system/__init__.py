"""What starcert asks of the machine it runs on: files and their locks, memory, processes, the terminal."""
