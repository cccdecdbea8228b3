import { invalidArgument } from "../errors.ts";
import { type CallChoices, CallSender } from "./call-sender.ts";
import type { ConnectOptions } from "./connect-options.ts";
import { type FetchGuard, HttpTransport } from "./http/http-transport.ts";
import { ModelClient } from "./model-client.ts";
import type { Transport } from "./transport.ts";
import type { AnyModel, TypedModel } from "./typed-model.ts";

/** Opens a connection over gRPC. */
type OpenGrpc = (address: string, options: ConnectOptions) => Transport;

/** A function that connects to servers. `Models`: the types that `kserving client` writes. */
export type Connect = <Models extends { readonly [Name in keyof Models]: TypedModel } = Record<string, AnyModel>>(
  address: string,
  options?: ConnectOptions,
) => Connection<Models>;

/** Creates `connect` for a place that has gRPC, or has none. `guard`: what the place's `fetch` needs around it. */
export function createConnect(openGrpc: OpenGrpc, guard?: FetchGuard): Connect {
  return (address, options = {}) => {
    const transport = openTransport(address, options, { openGrpc, guard });
    return createConnection(transport, new CallSender(options));
  };
}

/** Parts of connections that differ by place. */
interface PlaceParts {
  readonly openGrpc: OpenGrpc;
  readonly guard: FetchGuard | undefined;
}

function openTransport(address: string, options: ConnectOptions, { openGrpc, guard }: PlaceParts): Transport {
  if (/^https?:\/\/[^/]/.test(address)) return new HttpTransport(address, options, guard);
  if (/^grpcs?:\/\/[^/]/.test(address)) return openGrpc(address, options);
  throw invalidArgument(
    `The address is "${address}"; expected http://HOST:PORT, https://…, grpc://HOST:PORT or, encrypted, grpcs://….`,
  );
}

/** Methods of a connection besides its models. */
export interface ConnectionMethods<Models> {
  /** A model by its name, also one that begins with `$` or is called `then`. */
  $model<Name extends keyof Models & string>(name: Name): ModelClient<Models[Name] & TypedModel>;
  $model(name: string): ModelClient<AnyModel>;
  /** Names of the server's models. */
  $list(choices?: CallChoices): Promise<readonly string[]>;
  /** True if the server is ready. */
  $ready(choices?: CallChoices): Promise<boolean>;
  /** Ends the connection; over HTTP there is nothing to end. */
  $close(): void;
}

/** A server: its models by name, and {@link ConnectionMethods}. */
export type Connection<Models> = {
  readonly [Name in keyof Models]: Models[Name] extends TypedModel ? ModelClient<Models[Name]> : never;
} & ConnectionMethods<Models>;

/** A connection over a transport; each of its properties is a model, whether the server has it or not. */
function createConnection<Models>(transport: Transport, sender: CallSender): Connection<Models> {
  const models = new Map<string, ModelClient>();
  const model = (name: string): ModelClient => {
    const found = models.get(name) ?? new ModelClient<AnyModel>(transport, sender, { model: name });
    models.set(name, found);
    return found;
  };
  const methods = Object.assign(Object.create(null), methodsOf(transport, sender), { $model: model });
  // Awaiting a connection asks for `then`, printing it for symbols.
  const get = (_: object, name: string | symbol) =>
    typeof name === "symbol" || name === "then" || name in methods ? methods[name] : model(name);
  return new Proxy(methods, { get }) as Connection<Models>;
}

function methodsOf(transport: Transport, sender: CallSender) {
  const send = <Result>(choices: CallChoices, run: (call: ReturnType<CallSender["open"]>) => Promise<Result>) => {
    const call = sender.open(choices);
    return sender.send(call, () => run(call));
  };
  return {
    $list: (choices: CallChoices = {}) => send(choices, (call) => transport.list(call)),
    $ready: (choices: CallChoices = {}) => send(choices, (call) => transport.isReady(undefined, call)),
    $close: () => transport.close(),
  };
}
