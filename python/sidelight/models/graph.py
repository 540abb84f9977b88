"""What does the default model's ONNX graph look like?

A BERT encoder written node by node: the word table stays in 4-bit blocks (exactly the weights of
the source file), every matrix product takes int8 weights with one scale a column and quantises its
input on the fly, the rest is float32. Two outputs: `sentence_embedding` (mean over the tokens that
the mask keeps, length 1) and `token_embeddings`, which is there anyway.

The nodes are those that ONNX Runtime's own dynamic quantisation arrives at, written down directly:
no float model on disk in between, and the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from sidelight.models.e5file import BLOCK, Blocks, FloatArray, WeightFile

MICROSOFT = "com.microsoft"
OPSET = 21  # the first with 4-bit integers
IR_VERSION = 10  # what opset 21 came with; newer ones only shut out older runtimes
# 7 of 8 bits: without VNNI the int8 kernels add pairs of products in 16 bits, which overflow
# (255 * 127 * 2 > 32767); see https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html
WEIGHT_LIMIT = 63


def write_graph(weights: WeightFile) -> onnx.ModelProto:
    """The whole model, in memory (about 80 MB)."""
    return _Writer(weights).model()


class _Writer:
    """Collects nodes and constants; every method returns the name of its output."""

    def __init__(self, weights: WeightFile) -> None:
        self._weights = weights
        self._shape = weights.shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def model(self) -> onnx.ModelProto:
        mask = self._node("Cast", ["attention_mask"], "mask_int32", to=TensorProto.INT32)
        hidden = self._embeddings()
        for layer in range(self._shape.layers):
            hidden = self._layer(f"l{layer}", hidden, mask)
        self._node("Identity", [hidden], "token_embeddings")
        self._pooled(hidden)
        sizes: Sequence[int | str] = ["batch", "tokens"]
        width = self._shape.hidden
        graph = helper.make_graph(
            self._nodes,
            "multilingual-e5-small",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, sizes)
                for name in ("input_ids", "attention_mask")
            ],
            [
                helper.make_tensor_value_info(
                    "sentence_embedding", TensorProto.FLOAT, ["batch", width]
                ),
                helper.make_tensor_value_info(
                    "token_embeddings", TensorProto.FLOAT, [*sizes, width]
                ),
            ],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="sidelight"
        )

    def _embeddings(self) -> str:
        words = self._word_rows()
        # all texts are token type 0, so its row is part of the positions
        positions = self._weights.vector("emb.pos").reshape(-1, self._shape.hidden)
        positions = positions + self._weights.vector("emb.type")[: self._shape.hidden]
        table = self._constant("positions", positions)
        sizes = self._node("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self._constant("zero", np.zeros(1, np.int64))
        used = self._node("Slice", [table, zero, sizes], "positions_used")
        used = self._node("Unsqueeze", [used, zero], "positions_row")
        return self._normalised("emb.ln", words, used)

    def _word_rows(self) -> str:
        blocks = self._weights.blocks("emb.word", self._shape.hidden)
        self._constants.append(_int4_tensor("words", blocks))
        scales = self._constant("words_scale", blocks.scales.astype(np.float32))
        return self._node(
            "GatherBlockQuantized",
            ["words", "input_ids", scales],
            "word_rows",
            MICROSOFT,
            gather_axis=0,
            quantize_axis=1,
            block_size=BLOCK,
        )

    def _layer(self, name: str, hidden: str, mask: str) -> str:
        attended = self._attention(name, hidden, mask)
        projected = self._product(f"{name}.ao", attended, self._shape.hidden)
        hidden = self._normalised(f"{name}.aln", projected, hidden)
        inner = self._product(f"{name}.fi", hidden, self._shape.hidden, bias=False)
        bias = self._constant(f"{name}.fi.b", self._weights.vector(f"{name}.fi.b"))
        inner = self._node("BiasGelu", [inner, bias], f"{name}.gelu", MICROSOFT)
        outer = self._product(f"{name}.fo", inner, self._shape.feed_forward)
        return self._normalised(f"{name}.oln", outer, hidden)

    def _attention(self, name: str, hidden: str, mask: str) -> str:
        width = self._shape.hidden
        columns = [self._weights.matrix(f"{name}.{part}.w", width).T for part in "qkv"]
        biases = [self._weights.vector(f"{name}.{part}.b") for part in "qkv"]
        codes, scales = quantised_columns(np.concatenate(columns, axis=1))
        quantised = [f"{name}.in.q", f"{name}.in.scale", f"{name}.in.zero"]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [hidden], quantised))
        inputs = [
            quantised[0],
            self._constant(f"{name}.qkv.w", codes),
            self._constant(f"{name}.qkv.b", np.concatenate(biases)),
            quantised[1],
            self._constant(f"{name}.qkv.scale", scales),
            mask,
            quantised[2],
            self._constant(f"{name}.qkv.zero", np.zeros(len(scales), np.int8)),
        ]
        return self._node(
            "QAttention", inputs, f"{name}.attended", MICROSOFT, num_heads=self._shape.heads
        )

    def _product(self, name: str, inputs: str, columns: int, *, bias: bool = True) -> str:
        codes, scales = quantised_columns(self._weights.matrix(f"{name}.w", columns).T)
        weight = self._constant(f"{name}.w", codes)
        scale = self._constant(f"{name}.scale", scales)
        names = [inputs, weight, scale]
        if bias:
            names += ["", self._constant(f"{name}.b", self._weights.vector(f"{name}.b"))]
        return self._node("DynamicQuantizeMatMul", names, f"{name}.out", MICROSOFT)

    def _normalised(self, name: str, inputs: str, skip: str) -> str:
        gain = self._constant(f"{name}.w", self._weights.vector(f"{name}.w"))
        bias = self._constant(f"{name}.b", self._weights.vector(f"{name}.b"))
        return self._node(
            "SkipLayerNormalization",
            [inputs, skip, gain, bias],
            f"{name}.out",
            MICROSOFT,
            epsilon=self._shape.epsilon,
        )

    def _pooled(self, hidden: str) -> str:
        kept = self._node("Cast", ["attention_mask"], "mask_float", to=TensorProto.FLOAT)
        one = self._constant("one", np.ones(1, np.int64))
        row = self._node("Unsqueeze", [kept, one], "mask_row")
        total = self._node("MatMul", [row, hidden], "token_sum")
        total = self._node("Squeeze", [total, one], "token_total")
        # the mean and the sum point the same way, so the length division is left out
        return self._node("LpNormalization", [total], "sentence_embedding", axis=-1, p=2)

    def _constant(self, name: str, values: npt.NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _node(
        self, kind: str, inputs: list[str], output: str, domain: str = "", **attrs: Any
    ) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attrs))
        return output


def quantised_columns(
    matrix: FloatArray,
) -> tuple[npt.NDArray[np.int8], FloatArray]:
    """Symmetric codes in ±`WEIGHT_LIMIT`, shape (inputs, columns), and one scale a column."""
    scales = np.maximum(np.abs(matrix).max(axis=0), np.finfo(np.float32).tiny) / WEIGHT_LIMIT
    codes = np.rint(matrix / scales).astype(np.int8)
    return codes, scales.astype(np.float32)


def _int4_tensor(name: str, blocks: Blocks) -> onnx.TensorProto:
    """ONNX packs two signed halves a byte, the first one low; code - 8 is code XOR 8."""
    halves = blocks.codes ^ 8
    packed = halves[:, 0::2] | (halves[:, 1::2] << 4)
    tensor = onnx.TensorProto()
    tensor.name = name
    tensor.data_type = TensorProto.INT4
    tensor.dims.extend(blocks.codes.shape)
    tensor.raw_data = packed.tobytes()
    return tensor
