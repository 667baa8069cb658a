"""Who may connect, who calls, and what each caller may do."""
