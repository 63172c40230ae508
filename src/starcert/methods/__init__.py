"""The ways to certify: votes on noisy copies, evidence, every attack tried, hashed voters, numbers; and the audit."""
