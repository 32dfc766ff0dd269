"""Ready means that a token was made: ``/health`` answers 200 on servers whose first forward pass aborts."""

from __future__ import annotations

from trials.load import Endpoint, ExchangeError, call
from trials.load.refusals import unanswered
from trials.measure_errors import MeasureError
from trials.recorder import StopSignal


def ready_generation(
    url: str, timeout: float, *, stop: StopSignal | None = None, api_key: str | None = None
) -> None:
    """Make one token through ``/generate``.

    Args:
        timeout: How long the token may take, s.

    Raises:
        MeasureError: If the server does not make it in time; its ``status`` tells a refusal from silence.
        StopRequested: If ``stop`` is set meanwhile.
    """
    payload = {"text": "The first word is", "sampling_params": {"max_new_tokens": 1, "temperature": 0}}
    try:
        answer = call(Endpoint.parse(url, api_key), "/generate", payload, timeout=timeout, stop=stop)
    except ExchangeError as error:
        raise unanswered(error, "no first token") from None
    made = answer.get("meta_info", {}).get("completion_tokens") if isinstance(answer, dict) else None
    if not made:
        raise MeasureError(None, "the server answered /generate without making a token", [str(answer)[:200]])
