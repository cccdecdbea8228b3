import { connect } from "../../client/node.ts";
import type { DescribedTensor } from "../../client/transport.ts";
import { datatypeNamed } from "../../protocols/kserve/datatype.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { type KnownInput, type Signature, toSize } from "../../tensor/signature/signature.ts";
import type { ModelFlags } from "../commands/create-parser.ts";
import { openModel } from "../commands/open-model.ts";
import type { DescribedModel, TypedTensor } from "./typed-tensor.ts";

/** Models by name, sorted, so that writing the types again changes as little as possible. */
type DescribedModels = ReadonlyMap<string, DescribedModel>;

/** A server whose models are described. */
interface AskedServer {
  readonly address: string;
  readonly authorization: string | undefined;
  /** Names of the models; empty = all that are ready. */
  readonly names: readonly string[];
}

/** Describes the models of a server, by KServe V2; rejects with the server's error. */
export async function describeServed({ address, authorization, names }: AskedServer): Promise<DescribedModels> {
  const models = connect(address, authorization === undefined ? {} : { metadata: { authorization } });
  try {
    const found = names.length > 0 ? names : await readyModels(models);
    const described = found.toSorted().map(async (name) => {
      const model = models.$model(name);
      const [{ inputs, outputs }, decoupled] = await Promise.all([model.metadata(), model.decoupled()]);
      return [name, { inputs: toTyped(inputs), outputs: toTyped(outputs), ...(decoupled && { decoupled }) }] as const;
    });
    return new Map(await Promise.all(described));
  } finally {
    models.$close();
  }
}

async function readyModels(models: ReturnType<typeof connect>): Promise<readonly string[]> {
  const names = await models.$list();
  const ready = await Promise.all(names.map((name) => models.$model(name).ready()));
  return names.filter((_, index) => ready[index]);
}

/** The protocol has an empty list for any. */
function toTyped(tensors: readonly DescribedTensor[] = []): readonly TypedTensor[] | undefined {
  if (tensors.length === 0) return undefined;
  return tensors.map(({ name, datatype, shape, categories, example }) => {
    return { name, dtype: datatypeNamed(datatype)?.dtype, shape, categories, example };
  });
}

/** Describes a model's file or folder by loading it; rejects with the reason for which it cannot be loaded. */
export async function describeFile(path: string, flags: ModelFlags): Promise<DescribedModels> {
  const { server, name } = await openModel(path, flags);
  try {
    const lease = await server.service.acquire({ model: name });
    lease.release();
    const { signatures, decoupled } = lease.description;
    const described = toDescribed(chooseSignature("", signatures)?.spec ?? {});
    return new Map([[name, decoupled === true ? { ...described, decoupled } : described]]);
  } finally {
    await server.close();
  }
}

function toDescribed({ inputs, suggestedInputs, outputs }: Signature): DescribedModel {
  return { inputs: (inputs ?? suggestedInputs)?.map(toTypedSpec), outputs: outputs?.map(toTypedSpec) };
}

function toTypedSpec({ name, dtype, shape, categories, example, default: value }: KnownInput): TypedTensor {
  return { name, dtype, shape: shape?.map(toSize), categories, example, isOptional: value !== undefined };
}
