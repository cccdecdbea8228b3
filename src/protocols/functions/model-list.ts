import { reasonText, ServingError } from "../../errors.ts";
import { LongWork } from "../../platform/limits/long-work.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import { TEXT_FUNCTIONS } from "../../serving/infer-text.ts";
import { functionFacts, mostRows, type ServableDescription } from "../../serving/servable-description.ts";
import { varintsField } from "../../tensor/codecs/protobuf/packed-fields.ts";
import { bytesTag, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import {
  encodeMessage,
  integerField,
  messageField,
  textElement,
  textField,
  type WirePart,
} from "../../tensor/codecs/protobuf/wire-writer.ts";
import { isDType } from "../../tensor/dtype.ts";
import { createRecord } from "../../tensor/record.ts";
import {
  type Dimension,
  defaultSignatureName,
  type Signature,
  type TensorSpec,
  toSize,
} from "../../tensor/signature/signature.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import { addSize, readSizes } from "../kserve/grpc-request.ts";
import { CountedFields } from "./function-messages.ts";
import type { ToldModel } from "./told-models.ts";

const REQUEST = { model: 1 } as const;
const LIST = { models: 1 } as const;
const MODEL = { name: 1, version: 2, facts: 3, reason: 4 } as const;
const FACTS = { functions: 1, description: 2, decoupled: 3, rows: 4, signatures: 5, drivers: 6 } as const;
const SIGNATURE = { name: 1, inputs: 2, outputs: 3 } as const;
const TENSORS = { tensors: 1 } as const;
const TENSOR = { name: 1, dtype: 2, shape: 3, optional: 4 } as const;
const SHAPE = { sizes: 1 } as const;

/** Fields of a list without those of its models' signatures, and of one model's signatures, that are read at most. */
const MAX_LIST_FIELDS = 128 * 1024;
const MAX_SIGNATURE_FIELDS = 64 * 1024;

/** Writes a kserving.ListModelsRequest; an empty name stands for all models. */
export function encodeListRequest(model: string): Buffer {
  return encodeMessage([textField(REQUEST.model, model)]);
}

/** Reads the same. */
export function decodeListRequest(bytes: Uint8Array): string {
  const reader = new WireReader(bytes, "ListModelsRequest");
  let model = "";
  new CountedFields(MAX_LIST_FIELDS).read(reader, { [bytesTag(REQUEST.model)]: () => (model = reader.text()) });
  return model;
}

/** Writes a kserving.ListModelsResponse. */
export async function encodeModelList(models: readonly ToldModel[]): Promise<Buffer> {
  const written: Buffer[] = [];
  const work = new LongWork();
  for (const told of models) {
    if (work.isOver()) await work.next();
    written.push(encodeMessage([messageField(LIST.models, modelFields(told))]));
  }
  return Buffer.concat(written);
}

function modelFields({ model, version, unavailableReason = "", description }: ToldModel): readonly WirePart[] {
  return [
    textField(MODEL.name, model),
    integerField(MODEL.version, version),
    ...(description ? [messageField(MODEL.facts, factFields(description))] : []),
    textField(MODEL.reason, unavailableReason),
  ];
}

function factFields(description: ServableDescription): readonly WirePart[] {
  const { drivers, hooks, decoupled = false, signatures } = description;
  const first = defaultSignatureName(signatures);
  const rows = mostRows(description);
  const names = Object.keys(signatures).sort((a, b) => Number(b === first) - Number(a === first));
  const functions = TEXT_FUNCTIONS.filter((name) => hooks?.entries?.includes(name));
  return [
    ...functions.map((name) => textElement(FACTS.functions, name)),
    textField(FACTS.description, hooks?.description ?? ""),
    integerField(FACTS.decoupled, decoupled ? 1 : 0),
    integerField(FACTS.rows, Number.isFinite(rows) ? rows : 0),
    ...names.map((name) => messageField(FACTS.signatures, signatureFields(name, signatures[name] ?? {}))),
    ...drivers.map((name) => textElement(FACTS.drivers, name)),
  ];
}

function signatureFields(name: string, { inputs, outputs }: Signature): readonly WirePart[] {
  return [
    textField(SIGNATURE.name, name),
    ...(inputs ? [tensorsField(SIGNATURE.inputs, inputs)] : []),
    ...(outputs ? [tensorsField(SIGNATURE.outputs, outputs)] : []),
  ];
}

function tensorsField(field: number, specs: readonly TensorSpec[]): WirePart {
  const tensors = specs.map(({ name, dtype, shape, default: value }) =>
    messageField(TENSORS.tensors, [
      textField(TENSOR.name, name),
      textField(TENSOR.dtype, dtype),
      ...(shape ? [messageField(TENSOR.shape, [sizesField(shape)])] : []),
      integerField(TENSOR.optional, value === undefined ? 0 : 1),
    ]),
  );
  return messageField(field, tensors);
}

function sizesField(shape: readonly Dimension[]): WirePart {
  return varintsField(
    SHAPE.sizes,
    BigInt64Array.from(shape, (size) => BigInt(toSize(size))),
  );
}

/**
 * Reads a kserving.ListModelsResponse; a tensor of an unknown type makes its list unknown. Rejects with
 * `invalid_argument` for any other bytes, except that signatures are read once they are asked for: a server may have
 * thousands of models.
 */
export async function decodeModelList(bytes: Uint8Array): Promise<readonly ToldModel[]> {
  const reader = new WireReader(bytes, "ListModelsResponse");
  const fields = new CountedFields(MAX_LIST_FIELDS);
  const models: ToldModel[] = [];
  const work = new LongWork();
  while (reader.hasMore()) {
    if (work.isOver()) await work.next();
    fields.readOne(reader, { [bytesTag(LIST.models)]: () => models.push(readModel(reader.nested("Model"), fields)) });
  }
  return models;
}

function readModel(reader: WireReader, fields: CountedFields): ToldModel {
  let [model, version, unavailableReason] = ["", 0n, ""];
  let describe: ReturnType<typeof readFacts> | undefined;
  fields.read(reader, {
    [bytesTag(MODEL.name)]: () => (model = reader.text()),
    [tagOf(MODEL.version, WIRE.varint)]: () => (version = reader.int64()),
    [bytesTag(MODEL.facts)]: () => (describe = readFacts(reader.nested("Facts"), fields)),
    [bytesTag(MODEL.reason)]: () => (unavailableReason = reader.text()),
  });
  return { model, version, unavailableReason, ...(describe?.(model, version) ?? { description: undefined }) };
}

type Described = Pick<ToldModel, "description" | "readSignatures">;

/** Returns a function that describes the version which these facts are about. */
function readFacts(reader: WireReader, fields: CountedFields): (model: string, version: bigint) => Described {
  const [functions, drivers, signatures]: [string[], string[], Uint8Array[]] = [[], [], []];
  let [description, isDecoupled, maxRequestRows] = ["", false, 0];
  fields.read(reader, {
    [bytesTag(FACTS.functions)]: () => functions.push(reader.text()),
    [bytesTag(FACTS.description)]: () => (description = reader.text()),
    [tagOf(FACTS.decoupled, WIRE.varint)]: () => (isDecoupled = reader.uint32() !== 0),
    [tagOf(FACTS.rows, WIRE.varint)]: () => (maxRequestRows = reader.integer()),
    [bytesTag(FACTS.signatures)]: () => signatures.push(reader.bytes()),
    [bytesTag(FACTS.drivers)]: () => drivers.push(reader.text()),
  });
  return (model, version) => {
    let read: ServableDescription["signatures"] | undefined;
    function* readAll() {
      if (read !== undefined) return;
      const made = yield* readSignatures(signatures, model);
      read ??= made;
    }
    const described = {
      ...{ model, version, drivers },
      hooks: { ...functionFacts(functions), ...(description !== "" && { description }) },
      ...(isDecoupled && { decoupled: true }),
      ...(maxRequestRows > 0 && { configured: { maxRequestRows } }),
      get signatures() {
        for (const _ of readAll());
        return read as ServableDescription["signatures"];
      },
    };
    return { description: described, readSignatures: readAll };
  };
}

/** Work in steps, such as to read a tensor's facts, each of which takes microseconds. */
type Steps<Result> = Generator<undefined, Result>;

/** Throws `internal` for other bytes, which are no fault of the client. */
function* readSignatures(told: readonly Uint8Array[], model: string): Steps<ServableDescription["signatures"]> {
  const fields = new CountedFields(MAX_SIGNATURE_FIELDS);
  const signatures = createRecord<Signature>();
  try {
    for (const bytes of told) {
      const [name, signature] = yield* readSignature(new WireReader(bytes, "Signature"), fields);
      signatures[name] = signature;
    }
  } catch (cause) {
    const message = `The server behind this one tells signatures of the model ${cutText(model)} that cannot be read: ${reasonText(cause)}`;
    throw new ServingError("internal", message, { cause });
  }
  return signatures;
}

function* readSignature(reader: WireReader, fields: CountedFields): Steps<readonly [name: string, Signature]> {
  let name = "";
  const told: (readonly ["inputs" | "outputs", WireReader])[] = [];
  fields.read(reader, {
    [bytesTag(SIGNATURE.name)]: () => (name = reader.text()),
    [bytesTag(SIGNATURE.inputs)]: () => told.push(["inputs", reader.nested("Tensors")]),
    [bytesTag(SIGNATURE.outputs)]: () => told.push(["outputs", reader.nested("Tensors")]),
  });
  const signature: { inputs?: readonly TensorSpec[]; outputs?: readonly TensorSpec[] } = {};
  for (const [role, tensors] of told) {
    const specs = yield* readTensors(tensors, fields);
    if (specs !== undefined) signature[role] = specs;
  }
  return [name, signature];
}

/** Undefined = one of them is of an unknown type. */
function* readTensors(reader: WireReader, fields: CountedFields): Steps<readonly TensorSpec[] | undefined> {
  const specs: (TensorSpec | undefined)[] = [];
  const readers = {
    [bytesTag(TENSORS.tensors)]: () => specs.push(readTensor(reader.nested("Tensor"), fields)),
  };
  while (reader.hasMore()) {
    fields.readOne(reader, readers);
    yield;
  }
  const known = specs.filter((spec) => spec !== undefined);
  return known.length === specs.length ? known : undefined;
}

function readTensor(reader: WireReader, fields: CountedFields): TensorSpec | undefined {
  let [name, dtype, isOptional] = ["", "", false];
  let shape: number[] | undefined;
  fields.read(reader, {
    [bytesTag(TENSOR.name)]: () => (name = reader.text()),
    [bytesTag(TENSOR.dtype)]: () => (dtype = reader.text()),
    [bytesTag(TENSOR.shape)]: () => (shape = readShape(reader.nested("Shape"), fields)),
    [tagOf(TENSOR.optional, WIRE.varint)]: () => (isOptional = reader.uint32() !== 0),
  });
  if (!isDType(dtype)) return undefined;
  return { name, dtype, ...(shape && { shape }), ...(isOptional && { default: THEIRS }) };
}

/** Stands for the value of an input that is left out, which the other server alone has. */
const THEIRS: Tensor = createTensor("bytes", [0], []);

function readShape(reader: WireReader, fields: CountedFields): number[] {
  const shape: number[] = [];
  fields.read(reader, {
    [bytesTag(SHAPE.sizes)]: () => readSizes(reader, shape),
    [tagOf(SHAPE.sizes, WIRE.varint)]: () => addSize(reader, shape, reader.integer()),
  });
  return shape;
}
