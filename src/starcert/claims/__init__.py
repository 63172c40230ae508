"""Results about objects under a threat: questions, verdicts, certificates, the table of outcomes, sentences."""
