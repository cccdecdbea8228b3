import { describe, expect, it } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { checkSignature, wantedOutputs } from "../../../src/protocols/tensorflow-serving/grpc-signature.ts";
import type { Signature, TensorSpec } from "../../../src/tensor/signature/signature.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";

const one = createTensor("float32", [], Float32Array.of(1));

function spec(name: string, hasDefault = false): TensorSpec {
  return { name, dtype: "float32", ...(hasDefault && { default: one }) };
}

interface Sent {
  readonly inputs?: readonly string[];
  readonly outputFilter?: readonly string[];
  readonly signature?: string;
}

function check(sent: Sent, signatures: Record<string, Signature>): string | undefined {
  const { inputs = [], outputFilter = [], signature = "" } = sent;
  const request = { spec: { model: "", signature, versionEncoding: "int64" }, outputFilter } as const;
  try {
    const tensors = createTensors(inputs.map((name) => [name, one]));
    const servable = { model: "m", version: 1n, drivers: [], signatures };
    wantedOutputs(outputFilter, checkSignature({ ...request, inputs: tensors }, servable).spec);
    return undefined;
  } catch (reason) {
    return reason instanceof ServingError ? `${reason.code}: ${reason.message}` : String(reason);
  }
}

function checkInputs(inputs: readonly string[], ...specs: TensorSpec[]): string | undefined {
  return check({ inputs }, { serving_default: { inputs: specs } });
}

describe("inputs", () => {
  it("pass under the signature's names, in any order", () => {
    expect(checkInputs(["b", "a"], spec("a"), spec("b"))).toBeUndefined();
  });

  it("are refused where one is missing", () => {
    expect(checkInputs(["a"], spec("b"), spec("a"))).toBe(
      "invalid_argument: input size does not match signature: 1!=2 len({a}) != len({a,b}). Sent extra: {}. Missing but required: {b}.",
    );
  });

  it("are refused where there is one too many", () => {
    expect(checkInputs(["z", "a"], spec("a"))).toBe(
      "invalid_argument: input size does not match signature: 2!=1 len({a,z}) != len({a}). Sent extra: {z}. Missing but required: {}.",
    );
  });

  it("may leave out those that have a default", () => {
    expect(checkInputs(["a"], spec("a"), spec("b", true))).toBeUndefined();
    expect(checkInputs(["b"], spec("a"), spec("b", true))).toBe(
      "invalid_argument: Signature input alias: a(feed name: a) not found in request and no default value provided. Inputs expected to be in the request {b}, or default input alias set: b",
    );
  });

  it("are refused with what the graph calls the one that is missing", () => {
    expect(checkInputs(["x"], { ...spec("a"), nativeName: "serving_default_a:0" })).toMatch(
      /^invalid_argument: Signature input alias: a\(feed name: serving_default_a:0\) not found in request/,
    );
  });

  it("are refused under a name that the signature does not have", () => {
    expect(checkInputs(["x"], spec("a", true))).toBe(
      "invalid_argument: Inputs contains invalid name. Used request inputs: , request input: x",
    );
    expect(checkInputs(["x"], spec("a"))).toBe(
      "invalid_argument: Signature input alias: a(feed name: a) not found in request and no default value provided. Inputs expected to be in the request {x}, or default input alias set: ",
    );
  });

  it("are not looked at where the signature takes any", () => {
    expect(check({ inputs: ["x"] }, { serving_default: {} })).toBeUndefined();
  });
});

describe("a signature's name", () => {
  const signatures = { serving_default: {}, other: { inputs: [spec("a")] } };

  it("chooses the signature that is checked", () => {
    expect(check({ signature: "other", inputs: ["a"] }, signatures)).toBeUndefined();
    expect(check({ signature: "other" }, signatures)).toContain("input size does not match signature: 0!=1");
  });

  it.each(["nope", "__proto__", "toString"])("is refused where there is none: %s", (name) => {
    expect(check({ signature: name }, signatures)).toBe(
      `failed_precondition: Serving signature key "${name}" not found.`,
    );
  });

  it("is left to a service without known signatures", () => {
    expect(check({ signature: "nope", inputs: ["x"] }, {})).toBeUndefined();
  });

  it("is the first one's where none is given and none is the default", () => {
    expect(check({ inputs: ["a"] }, { other: { inputs: [spec("a")] } })).toBeUndefined();
    expect(check({ inputs: ["x"] }, { other: { inputs: [spec("a")] } })).toContain("alias: a(feed name: a) not found");
  });
});

describe("an output filter", () => {
  const signatures = { serving_default: { outputs: [spec("y"), spec("x")] } };

  it("passes with names of the signature", () => {
    expect(check({ outputFilter: ["x", "y"] }, signatures)).toBeUndefined();
  });

  it("is refused with another name", () => {
    expect(check({ outputFilter: ["z"] }, signatures)).toBe(
      "invalid_argument: output tensor alias not found in signature: z Outputs expected to be in the set {x,y}.",
    );
  });

  it.each([
    [["z"], undefined],
    [["z", "y"], ["y"]],
    [
      ["x", "y"],
      ["x", "y"],
    ],
    [[], undefined],
  ])("%j leaves out unknown names where it is asked to", (filter, wanted) => {
    expect(wantedOutputs(filter, signatures.serving_default, { ignoreUnknownOutputs: true })).toEqual(wanted);
    expect(wantedOutputs(filter, {}, { ignoreUnknownOutputs: true })).toEqual(filter.length > 0 ? filter : undefined);
  });

  it("is refused with one name twice, even where the outputs are not known before", () => {
    expect(check({ outputFilter: ["x", "x"] }, signatures)).toBe("invalid_argument: duplicate output tensor alias: x");
    expect(check({ outputFilter: ["q", "q"] }, { serving_default: {} })).toBe(
      "invalid_argument: duplicate output tensor alias: q",
    );
  });
});
