"""What programs do with the pipelines of ``transformers``: a function for each task.

Each is given a new tokenizer, builds pipelines around it and returns what they say. Their models
are tiny and of random weights, the same each time. They need PyTorch and ``transformers``.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import string
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import synthetic
from hf_models import MESSAGES, fast
from hf_surface import outcome, ready
from tokenizers import AddedToken

TEXTS = [
    "Hello <s> Größe, e\u0301 Word 👩‍👩‍👧 and more",
    *synthetic.SENTENCES[2:6],
    "  two  spaces,\n\n and a line ",
]
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
LABELS_OF = {
    "zero-shot-classification": ("neutral", "entailment", "contradiction"),
    "document-question-answering": ("start", "end"),
}
#: Weights as far apart as that the labels of tokens and the words that come next differ.
SPREAD = 0.3


def network(head: str, tokenizer: Any, labels: tuple[str, ...] = LABELS) -> Any:
    """A model with that head, by the name that an Auto class has for it, for this vocabulary."""
    import transformers

    shape = {
        "vocab_size": max(tokenizer.get_vocab().values()) + 3,  # two tokens may be added
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 600,
        "initializer_range": SPREAD,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        "eos_token_id": None,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: i for i, label in enumerate(labels)},
    }
    kinds = {
        "CausalLM": transformers.LlamaConfig,
        "DocumentQuestionAnswering": transformers.LayoutLMConfig,
    }
    config = kinds.get(head, transformers.BertConfig)(**shape)
    transformers.set_seed(7)
    return getattr(transformers, f"AutoModel{'For' * bool(head)}{head}").from_config(config).eval()


def pipe(task: str, head: str, tokenizer: Any, **options: Any) -> Any:
    """A pipeline for the task, of a tokenizer that cuts where the model ends."""
    import transformers

    tokenizer.model_max_length = min(tokenizer.model_max_length, 500)
    model = network(head, tokenizer, LABELS_OF.get(task, LABELS))
    return transformers.pipeline(task, model=model, tokenizer=tokenizer, device="cpu", **options)


def token_classification(tokenizer: Any) -> Any:
    name = pipe("token-classification", "TokenClassification", tokenizer)
    ways = ("none", "simple", "first", "average", "max")
    told = [name(TEXTS, ignore_labels=[])]
    assert len({entity["entity"] for found in told[0] for entity in found}) > 1
    told += [name(text, aggregation_strategy=way) for text in TEXTS for way in ways]
    told += [name(TEXTS, aggregation_strategy="first", batch_size=3), name(TEXTS, batch_size=4)]
    words = [text.split() for text in TEXTS[:3]]
    for way in ways:
        options = {"is_split_into_words": True, "aggregation_strategy": way}
        told += [name(words, **options), name(words[0], delimiter="_", **options)]
    return told


def token_classification_of_long_texts(tokenizer: Any) -> Any:
    """In overlapping chunks, of which the pipeline joins what it found in each."""
    tokenizer.model_max_length = 20
    told = []
    for stride, way in ((0, "simple"), (4, "first"), (7, "max"), (10, "average")):
        options = {"stride": stride, "aggregation_strategy": way}
        name = pipe("ner", "TokenClassification", tokenizer, **options)
        told += [name(" ".join(TEXTS)), name(TEXTS), name(TEXTS, batch_size=2)]
        told.append(name(TEXTS[2].split(), is_split_into_words=True))
    return told


def text_classification(tokenizer: Any) -> Any:
    classify = pipe("text-classification", "SequenceClassification", tokenizer, top_k=None)
    pairs = [{"text": a, "text_pair": b} for a, b in itertools.pairwise(TEXTS)]
    told = [classify(text) for text in TEXTS] + [classify(pair) for pair in pairs]
    told += [classify(inputs) for inputs in (TEXTS, pairs, [[[TEXTS[0], "a"]]])]
    told += [outcome(classify, inputs) for inputs in (tuple(TEXTS), [["a", "b"]])]
    told += [classify(TEXTS[0], top_k=2), classify(TEXTS[0], function_to_apply="sigmoid")]
    for options in (
        {"truncation": True, "max_length": 9},
        {"padding": "max_length", "max_length": 100, "truncation": "longest_first"},
        {"padding": True, "pad_to_multiple_of": 16, "padding_side": "left"},
        {"truncation": "only_first", "max_length": 80, "batch_size": 3},
        {"add_special_tokens": False, "batch_size": 4},
    ):
        told += [classify(inputs, **options) for inputs in (TEXTS, pairs)]
        told.append(classify(TEXTS[2], **options))
    return told


def fill_mask(tokenizer: Any) -> Any:
    if tokenizer.mask_token is None:
        mask = AddedToken("<left>", lstrip=True, special=True)
        ready(tokenizer).add_special_tokens({"mask_token": mask})
    fill, mask = pipe("fill-mask", "MaskedLM", ready(tokenizer)), tokenizer.mask_token
    one, two = f"{TEXTS[0]} {mask} {TEXTS[1]}", f"A {mask} and  {mask}{TEXTS[2]}{mask}."
    told = [fill(one), fill(two), fill([one, two, f"{mask}"]), fill(one, top_k=2)]
    some = tokenizer.convert_ids_to_tokens([20, 30, 40])
    told += [fill(one, targets=some), fill(two, targets=[*some, "never heard", " of it"])]
    told.append(fill(one * 3, tokenizer_kwargs={"truncation": True, "max_length": 60}))
    return [*told, outcome(fill, "no mask"), outcome(fill, one, targets=[""])]


def feature_extraction(tokenizer: Any) -> Any:
    extract = pipe("feature-extraction", "", tokenizer)
    options = {"padding": "max_length", "max_length": 12, "truncation": True}
    return [
        extract(TEXTS[0]),
        extract(TEXTS, return_tensors=True),
        extract(TEXTS, tokenize_kwargs=options, return_tensors=True),
        extract(TEXTS[:3], batch_size=3),
    ]


def text_generation(tokenizer: Any) -> Any:
    import transformers

    def write(inputs: Any, **options: Any) -> Any:
        transformers.set_seed(1)
        return go_on(inputs, max_new_tokens=10, **options)

    go_on = pipe("text-generation", "CausalLM", tokenizer)
    told = [write(text) for text in TEXTS]
    assert len({str(one) for one in told}) == len(TEXTS)
    for options in (
        {"return_full_text": False},
        {"return_tensors": True},
        {"clean_up_tokenization_spaces": True, "skip_special_tokens": False},
        {"num_return_sequences": 2},
        {"prefix": "Größe: ", "handle_long_generation": "hole"},
        {"add_special_tokens": False, "do_sample": False},
        {"tokenizer_encode_kwargs": {"truncation": True, "max_length": 7}},
        {"batch_size": 2},
    ):
        told.append(write(TEXTS[:2], **options))
    return [*told, outcome(write, TEXTS[:2], stop_sequence=["e", "ab"])]  # which needs a decoder


def assisted_generation(tokenizer: Any) -> Any:
    """By a model with a vocabulary of its own: what it suggests goes through both tokenizers.

    Without sampling, which goes by the order of `get_vocab()`: another one each time.
    """
    other = fast("roberta")
    helper = {"assistant_model": network("CausalLM", other), "assistant_tokenizer": other}
    go_on = pipe("text-generation", "CausalLM", tokenizer, do_sample=False, **helper)
    return [go_on(text, max_new_tokens=10) for text in (*TEXTS[::2], MESSAGES)]


def chat(tokenizer: Any) -> Any:
    """Messages, chats in a list and a generator; what the assistant began, or all that it says."""
    import transformers

    go_on = pipe("text-generation", "CausalLM", tokenizer)
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    chats, told = [MESSAGES, MESSAGES[:1]], []
    for inputs, options in (
        (MESSAGES, {}),
        (chats, {}),
        (chats, {"batch_size": 2}),
        (MESSAGES[:2], {}),
        (MESSAGES[:2], {"continue_final_message": False}),
        (MESSAGES, {"return_full_text": False}),
        (MESSAGES, {"return_tensors": True}),
        (MESSAGES, {"tools": [tool]}),
        (MESSAGES, {"tokenizer_encode_kwargs": {"truncation": True, "max_length": 9}}),
        ((one for one in chats), {}),
    ):
        transformers.set_seed(3)
        found = go_on(inputs, max_new_tokens=10, **options)
        told.append(found if isinstance(found, (list, dict)) else list(found))
    return told


def streaming(tokenizer: Any) -> Any:
    """Texts as they come, to an iterator and to the screen."""
    import transformers

    go_on, told = pipe("text-generation", "CausalLM", tokenizer), []
    for text, skip in itertools.product((TEXTS[0], TEXTS[2], MESSAGES), (True, False)):
        streamer = transformers.TextIteratorStreamer(
            tokenizer, skip_prompt=skip, timeout=60, skip_special_tokens=skip
        )
        options = {"streamer": streamer, "max_new_tokens": 12}
        transformers.set_seed(5)
        worker = threading.Thread(target=go_on, args=(text,), kwargs=options)
        worker.start()
        told.append(list(streamer))
        worker.join()
        assert len(told[-1]) > 1
        screen, options["streamer"] = io.StringIO(), transformers.TextStreamer(tokenizer, skip)
        with contextlib.redirect_stdout(screen):
            go_on(text, **options)
        told.append([screen.getvalue()])
    return told


def zero_shot_classification(tokenizer: Any) -> Any:
    judge = pipe("zero-shot-classification", "SequenceClassification", tokenizer)
    labels = ["Größe", "about  numbers", "分词器"]
    told = [judge(text, labels) for text in TEXTS] + [judge(TEXTS, labels, batch_size=4)]
    told.append(judge(TEXTS, labels, multi_label=True, hypothesis_template="It is {}!"))
    tokenizer.model_max_length = 30
    return [*told, judge(" ".join(TEXTS), "a, b,c"), outcome(judge, "a", labels, multi_label=True)]


def document_question_answering(tokenizer: Any) -> Any:
    """Words with their boxes, in overlapping spans where they are too many."""
    tokenizer.padding_side = "right"  # as it has to be
    answer = pipe("document-question-answering", "DocumentQuestionAnswering", tokenizer)
    words = " ".join(TEXTS[:3]).split()
    boxes = [(word, [i, 10 * i, i + 20, 10 * i + 9]) for i, word in enumerate(words)]
    told = []
    for options in (
        {},
        {"top_k": 3},
        {"max_seq_len": 40, "doc_stride": 8, "top_k": 2},
        {"max_seq_len": 40, "doc_stride": 8, "padding": "max_length", "batch_size": 2},
        {"handle_impossible_answer": True},
    ):
        inputs = [{"question": q, "word_boxes": boxes} for q in ("Who  is it?", "<s> Größe")]
        told += [answer(inputs, **options), answer(inputs[0], **options)]
    return told


def decision(tokenizer: Any) -> Any:
    """Answers from the logits of labels, which have to be single tokens."""
    from transformers.decision import DecisionConfig

    words = [*string.ascii_letters, *" ".join(TEXTS).split()]
    short = [word for word in words if len(tokenizer.tokenize(word)) == 1][:3]
    config = DecisionConfig(labels={"choice": short, "score": short, "noul": short[:2]})
    decide = pipe("decision", "CausalLM", tokenizer, decision_config=config)
    choice = {"type": "choice", "instructions": "Which?", "criteria": {"x": "Größe", "y": None}}
    questions = {"one": choice, "two": {"type": "score", "criteria": ["no", "some", "all"]}}
    requests = [{"state": text, "questions": questions} for text in TEXTS]
    yes = {"state": TEXTS[0], "questions": {"three": {"type": "noul", "instructions": "Is it?"}}}
    told = []
    for _ in range(2):
        told += [decide(inputs) for inputs in (requests, requests[0], yes)]
        ready(tokenizer)  # the first call has added tokens
    return told


def transcription(tokenizer: Any) -> Any:
    """What Whisper hears in noise, with the times that its tokens tell; for its tokenizers only."""
    import transformers

    ids = tokenizer.get_vocab()
    config = transformers.WhisperConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_target_positions=100,
        init_std=SPREAD,
        decoder_start_token_id=ids["<|startoftranscript|>"],
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), ids["<|endoftext|>"]),
    )
    transformers.set_seed(7)
    model = transformers.WhisperForConditionalGeneration(config).eval()
    vars(model.generation_config).update(
        no_timestamps_token_id=ids["<|notimestamps|>"],
        is_multilingual=True,
        lang_to_id={f"<|{name}|>": ids[f"<|{name}|>"] for name in ("en", "de", "zh")},
        task_to_id={name: ids[f"<|{name}|>"] for name in ("transcribe", "translate")},
        alignment_heads=[[0, 0]],
        return_timestamps=False,
        max_length=60,
    )
    extractor = transformers.WhisperFeatureExtractor()
    parts = {"model": model, "tokenizer": tokenizer, "feature_extractor": extractor}
    hear = transformers.pipeline("automatic-speech-recognition", **parts, device="cpu")
    noise, told = np.random.default_rng(1).standard_normal(80_000), []
    for options in (
        {},
        {"return_timestamps": True},
        {"return_timestamps": "word"},
        {"return_language": True},
        {"return_timestamps": True, "chunk_length_s": 3, "batch_size": 2},
        {"generate_kwargs": {"language": "german", "do_sample": True}},
    ):
        transformers.set_seed(3)
        told.append(hear(noise.astype(np.float32), **options))
    assert all(one["text"] for one in told)
    return told


TASKS: dict[str, Callable[[Any], Any]] = {
    made.__name__: made
    for made in (
        token_classification,
        token_classification_of_long_texts,
        text_classification,
        fill_mask,
        feature_extraction,
        text_generation,
        assisted_generation,
        chat,
        streaming,
        zero_shot_classification,
        document_question_answering,
        decision,
    )
}
