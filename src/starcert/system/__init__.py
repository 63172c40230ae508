"""What starcert asks of the machine it runs on: files, locks, memory, processes, the terminal."""
