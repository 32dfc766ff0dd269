"""Knowledge from elsewhere: boots of earlier studies, of other Optuna studies, and of server logs."""
