"""Workers and nodes as real processes: what they promise to each other when they are killed."""
