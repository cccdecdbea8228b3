import { encodeMessage, integerField, messageField, textField } from "../../../codecs/protobuf/wire-writer.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import type { DType } from "../../../tensor/dtype.ts";
import { codeOf } from "../element-types.ts";
import { toNames } from "./names.ts";
import type { NativeContext } from "./open-onnx.ts";
import { check, takePointer } from "./status.ts";

const OUTPUT = "empty";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const MODEL = { irVersion: 1, graph: 7, operators: 8 };
const OPERATORS = { version: 2 };
const GRAPH = { node: 1, name: 2, output: 12 };
const NODE = { output: 2, operator: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, integer: 3, kind: 20 };
const INTEGER = 2;
const VALUE = { name: 1, type: 2 };
const TYPE = { tensor: 1, sequence: 4, element: 1 };
/** The first versions that have the operator. */
const VERSIONS = { ir: 6, operators: 11 };

/**
 * An OrtValue of a sequence of no tensors, for which the C API has no constructor: the output of a model of one
 * operator, which takes a fraction of a millisecond. It outlives that model.
 */
export function createEmptySequence(context: NativeContext, dtype: DType): Pointer {
  const { api, environment } = context;
  const model = modelOf(codeOf(dtype));
  const settings = takePointer(api, (at) => api.CreateSessionOptions(at));
  try {
    check(api, api.SetIntraOpNumThreads(settings, 1));
    return runOnce(
      context,
      takePointer(api, (at) => api.CreateSessionFromArray(environment, model, model.length, settings, at)),
    );
  } finally {
    api.ReleaseSessionOptions(settings);
  }
}

function runOnce({ api }: NativeContext, session: Pointer): Pointer {
  const { texts } = toNames([OUTPUT]);
  try {
    return takePointer(api, (at) => api.Run(session, null, null, null, 0, texts, 1, at));
  } finally {
    api.ReleaseSession(session);
  }
}

function modelOf(code: number): Buffer {
  const dtype = [
    textField(ATTRIBUTE.name, "dtype"),
    integerField(ATTRIBUTE.integer, code),
    integerField(ATTRIBUTE.kind, INTEGER),
  ];
  const node = [
    textField(NODE.output, OUTPUT),
    textField(NODE.operator, "SequenceEmpty"),
    messageField(NODE.attribute, dtype),
  ];
  const tensor = messageField(TYPE.element, [messageField(TYPE.tensor, [integerField(TYPE.element, code)])]);
  const output = [textField(VALUE.name, OUTPUT), messageField(VALUE.type, [messageField(TYPE.sequence, [tensor])])];
  const graph = [messageField(GRAPH.node, node), textField(GRAPH.name, OUTPUT), messageField(GRAPH.output, output)];
  return encodeMessage([
    integerField(MODEL.irVersion, VERSIONS.ir),
    messageField(MODEL.graph, graph),
    messageField(MODEL.operators, [integerField(OPERATORS.version, VERSIONS.operators)]),
  ]);
}
