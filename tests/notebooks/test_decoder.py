"""Chapter 21's decoder: any local folder, padding on either side, and LoRA by peft as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2Model, Qwen2Config, Qwen2Model

from dicebook import MultiLabelDiceLoss
from dicelab.tasks import labels
from dicelab.training.encoders import load_tokenizer

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "notebooks" / "21_many_labels.ipynb"
TEXTS = ["the road is icy and dark", "thank you", "a loud road"]
SMALL = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
}
KINDS = {
    "gpt2": (GPT2Config, GPT2Model, {"n_embd": 16, "n_layer": 2, "n_head": 2}),
    "qwen2": (Qwen2Config, Qwen2Model, SMALL),
}


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A small decoder without a padding token in its config, and its tokenizer, saved."""
    config, model, size = KINDS[request.param]
    tokenizer = load_tokenizer("tiny", TEXTS)
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    torch.manual_seed(0)
    made = model(config(vocab_size=len(tokenizer), **size, **ends))
    made.to(torch.bfloat16).save_pretrained(tmp_path / "decoder")
    tokenizer.save_pretrained(tmp_path / "decoder")
    return str(tmp_path / "decoder")


def read(folder: str, side: str = "right"):
    """The tokenizer, a model in fp32, and a function that gives the logits of some texts."""
    tokenizer = load_tokenizer(folder, [])
    tokenizer.padding_side = side
    torch.manual_seed(0)
    model = labels.model(folder, tokenizer, ["a", "b"]).float().eval()

    def batch(texts: list[str]) -> dict[str, torch.Tensor]:
        encoded = tokenizer(texts)
        rows = [{name: encoded[name][i] for name in encoded} for i in range(len(texts))]
        made = labels.collator(tokenizer)([row | {"labels": [0, 1]} for row in rows])
        return {name: made[name] for name in ("input_ids", "attention_mask")}

    return tokenizer, model, batch


@pytest.mark.parametrize(
    ("folder", "side", "same"),
    [
        ("gpt2", "right", True),
        ("gpt2", "left", False),  # its positions are counted from the left end
        ("qwen2", "right", True),
        ("qwen2", "left", True),
    ],
    indirect=["folder"],
)
@torch.no_grad()
def test_a_batch_gives_what_each_text_alone_gives(folder: str, side: str, same: bool) -> None:
    _, model, batch = read(folder, side)
    alone = torch.cat([model(**batch([text])).logits for text in TEXTS])
    apart = (model(**batch(TEXTS)).logits - alone).abs().max().item()
    assert (apart < 1e-5) == same
    assert alone.dtype == torch.float32


def printed() -> str:
    """The lines with peft, as the chapter prints them."""
    text = CHAPTER.with_suffix(".py").read_text(encoding="utf-8")
    (block,) = re.findall(r"# ```python\n((?:#.*\n)*?)# ```\n", text)
    return re.sub(r"(?m)^# ?", "", block)


@pytest.mark.parametrize("folder", ["qwen2"], indirect=True)
def test_the_lines_with_peft_train_a_low_rank_part_and_the_head(folder: str, tmp_path) -> None:
    peft = pytest.importorskip("peft")
    _, model, batch = read(folder)

    def with_bias(decoder):
        decoder.score = torch.nn.Linear(decoder.config.hidden_size, 2)
        torch.nn.init.constant_(decoder.score.bias, -3.0)
        return decoder

    told = with_bias(model)(**batch(TEXTS)).logits.detach()
    names = {"model": model}
    exec(printed(), names)
    wrapped = names["model"]
    torch.testing.assert_close(wrapped(**batch(TEXTS)).logits, told)
    trained = {name: p for name, p in wrapped.named_parameters() if p.requires_grad}
    kinds = {re.search(r"(q_proj|v_proj|score)\b.*?(lora_[AB]|weight|bias)", n) for n in trained}
    assert {m.groups() for m in kinds if m} == {
        *((layer, part) for layer in ("q_proj", "v_proj") for part in ("lora_A", "lora_B")),
        ("score", "weight"),
        ("score", "bias"),
    }
    loss = MultiLabelDiceLoss(average="macro")
    loss(wrapped(**batch(TEXTS)).logits, torch.tensor([[1, 0], [0, 0], [0, 1]])).backward()
    assert {name for name, p in wrapped.named_parameters() if p.grad is not None} == {*trained}
    torch.optim.AdamW(trained.values(), lr=1e-2).step()
    learned = wrapped(**batch(TEXTS)).logits.detach()
    wrapped.save_pretrained(tmp_path / "adapter")
    again = peft.PeftModel.from_pretrained(with_bias(read(folder)[1]), tmp_path / "adapter").eval()
    torch.testing.assert_close(again(**batch(TEXTS)).logits, learned)
    torch.testing.assert_close(again.merge_and_unload()(**batch(TEXTS)).logits, learned)
