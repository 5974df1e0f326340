"""The problems that algorithms solve; each says once what must hold in every driver."""
