"""The box's HTTP, as clients of SGLang use it."""

from __future__ import annotations

import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOMY = ("--mem-fraction-static", "0.88")
EAGLE3 = (
    "--speculative-algorithm=EAGLE3",
    "--speculative-draft-model-path=some/draft",
    "--speculative-num-steps=3",
)


def stream(box: Any, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a streamed reply, without ``[DONE]``."""
    request = urllib.request.Request(f"http://127.0.0.1:{box.port}{path}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as reply:
        data = [line[6:].strip() for line in reply if line.startswith(b"data: ")]
    assert data[-1] == b"[DONE]"
    return [json.loads(each) for each in data[:-1]]


@pytest.fixture
def box(start_box: Any) -> Any:
    return start_box(*ROOMY, *EAGLE3).wait_ready()


def test_health_models_and_info(box: Any) -> None:
    assert box.get("/health")[0] == box.get("/health_generate")[0] == 200
    models = json.loads(box.get("/v1/models")[1])
    assert models["data"][0]["id"] == "some/model"
    box.generate(tokens=200)
    info = box.info()
    assert info["version"] == "0.5.23"
    assert info["simulated"] is True
    assert info["tp_size"] == 8
    (state,) = info["internal_states"]
    assert state["memory_usage"]["weight"] == pytest.approx(72.33)
    assert state["memory_usage"]["token_capacity"] > 100_000
    assert state["memory_usage"]["graph"]["target_verify"] > 0
    assert 2 < state["avg_spec_accept_length"] < 4
    assert state["last_gen_throughput"] > 0
    assert json.loads(box.get("/get_server_info")[1])["version"] == "0.5.23"
    assert box.get("/nowhere")[0] == 404


def test_generate_tells_tokens_and_acceptance(box: Any) -> None:
    meta = box.generate(tokens=50)["meta_info"]
    assert meta["completion_tokens"] == 50
    assert meta["finish_reason"] == {"type": "length", "length": 50}
    assert meta["spec_verify_ct"] < 50
    assert meta["spec_accept_length"] == pytest.approx(49 / meta["spec_verify_ct"])


def test_chat_stream_counts_tokens_and_ends_with_usage(box: Any) -> None:
    body = {
        "messages": [{"role": "user", "content": "Hello there"}],
        "max_tokens": 40,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    events = stream(box, "/v1/chat/completions", body)
    assert events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert events[-1]["choices"] == []
    assert events[-1]["usage"]["completion_tokens"] == 40
    assert events[-2]["choices"][0]["finish_reason"] == "length"
    pieces = [event["choices"][0]["delta"].get("content") or "" for event in events[1:-2]]
    assert len(pieces) < 40, "under speculation a chunk carries several tokens"
    whole = box.post("/v1/chat/completions", {**body, "stream": False})
    assert whole["choices"][0]["message"]["content"] == "".join(pieces)


def test_completions_and_native_stream_agree(box: Any) -> None:
    body = {"prompt": "Once upon a time", "max_tokens": 20, "ignore_eos": True}
    plain = box.post("/v1/completions", body)["choices"][0]["text"]
    sampling = {"max_new_tokens": 20, "ignore_eos": True}
    events = stream(
        box, "/generate", {"text": "Once upon a time", "sampling_params": sampling, "stream": True}
    )
    assert events[-1]["text"] == plain
    assert [event["meta_info"]["completion_tokens"] for event in events] == sorted(
        event["meta_info"]["completion_tokens"] for event in events
    )


def test_answers_are_scored_as_they_were_generated(box: Any) -> None:
    said = box.generate(tokens=12, return_logprob=True, logprob_start_len=0)["meta_info"]
    prompt = [entry[1] for entry in said["input_token_logprobs"]]
    answer = said["output_token_logprobs"]
    body = {
        "input_ids": prompt + [entry[1] for entry in answer],
        "sampling_params": {"max_new_tokens": 1},
        "return_logprob": True,
        "logprob_start_len": len(prompt) - 1,
    }
    scored = box.post("/generate", body)["meta_info"]["input_token_logprobs"]
    assert scored[0][0] is None
    assert scored[1:] == answer


def test_bad_requests_are_refused(box: Any) -> None:
    for path, body in (
        ("/generate", b"{}"),
        ("/generate", b"nonsense"),
        ("/v1/chat/completions", b'{"messages": []}'),
        ("/v1/completions", b"{}"),
    ):
        request = urllib.request.Request(f"http://127.0.0.1:{box.port}{path}", body)
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request, timeout=30)
        assert error.value.code == 400


def test_the_cache_serves_a_repeated_prompt_until_flushed(box: Any) -> None:
    text = "A rather long prompt " * 30
    for _ in range(2):
        box.generate(text, tokens=2)
    assert box.log.count("#new-token: 1, #cached-token:") == 1
    assert box.get("/flush_cache")[0] == 200
    box.generate(text, tokens=2)
    assert box.log.count("#new-token: 1, #cached-token:") == 1


def test_more_requests_than_slots_wait(start_box: Any) -> None:
    box = start_box(*ROOMY, "--max-running-requests", "2").wait_ready()
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda index: box.generate(f"story {index}", tokens=60), range(4)))
    assert all(reply["meta_info"]["completion_tokens"] == 60 for reply in replies)
    assert "#running-req: 2," in box.log
    assert "#running-req: 3," not in box.log
    assert "#queue-req: 2" in box.log


def test_a_full_pool_retracts_and_a_prompt_too_long_is_cut_silently(start_box: Any) -> None:
    small = (
        "--max-total-tokens",
        "400",
        "--schedule-conservativeness",
        "0.1",
        "--cuda-graph-max-bs-decode",
        "8",
    )
    box = start_box(*ROOMY, *small).wait_ready()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda index: box.generate(f"story {index}", tokens=150), range(4)))
    assert "KV cache pool is full. Retract requests. #retracted_reqs: 1" in box.log
    ids = list(range(5000, 5390))
    reply = box.post("/generate", {"input_ids": ids, "sampling_params": {"max_new_tokens": 300}})
    assert reply["meta_info"]["completion_tokens"] == 8


def test_a_long_prefill_runs_out_of_working_memory(start_box: Any) -> None:
    box = start_box("--mem-fraction-static", "0.93").wait_ready()
    box.generate(tokens=2)
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        box.post("/generate", {"input_ids": list(range(8000)), "sampling_params": {"max_new_tokens": 2}})
    assert box.wait_exit() == -9
    assert "torch.OutOfMemoryError: CUDA out of memory" in box.log


def test_a_client_that_leaves_frees_its_slot(start_box: Any) -> None:
    box = start_box(*ROOMY, "--max-running-requests", "1").wait_ready()
    body = {"text": "long", "sampling_params": {"max_new_tokens": 4000, "ignore_eos": True}, "stream": True}
    request = urllib.request.Request(f"http://127.0.0.1:{box.port}/generate", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as reply:
        reply.readline()
    began = time.monotonic()
    box.generate(tokens=2)
    assert time.monotonic() - began < 20


def test_attention_groups_log_and_serve_under_their_own_tags(start_box: Any) -> None:
    box = start_box("--mem-fraction-static", "0.9", "--attn-dp-size", "2").wait_ready()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda index: box.generate(f"story {index}", tokens=90), range(4)))
    assert "DP0 TP0] Decode batch, #running-req: 2" in box.log
    assert "DP1 TP4] Decode batch, #running-req: 2" in box.log


def test_replicas_share_the_requests(start_box: Any) -> None:
    box = start_box("--dp-size", "2", box="qwen3-32b-4x-l40s", tp=2).wait_ready()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda index: box.generate(f"story {index}", tokens=50), range(4)))
    assert "DP0 TP0] Decode batch, #running-req: 2" in box.log
    assert "DP1 TP0] Decode batch, #running-req: 2" in box.log
    assert len(box.info()["internal_states"]) == 2


def test_metrics_when_enabled(start_box: Any) -> None:
    without = start_box(*ROOMY).wait_ready()
    assert without.get("/metrics")[0] == 404
    assert without.stop() == 0
    status, text = start_box(*ROOMY, "--enable-metrics").wait_ready().get("/metrics")
    assert status == 200
    assert b'sglang:num_running_reqs{model_name="some/model"} 0' in text
