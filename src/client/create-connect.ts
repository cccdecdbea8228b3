import { invalidArgument } from "../errors.ts";
import { CallSender } from "./call-sender.ts";
import type { ConnectOptions } from "./connect-options.ts";
import { type Connection, createConnection } from "./connection.ts";
import { HttpTransport } from "./http/http-transport.ts";
import type { Transport } from "./transport.ts";
import type { AnyModel, TypedModel } from "./typed-model.ts";

/** Opens a connection over gRPC. */
type OpenGrpc = (address: string, options: ConnectOptions) => Transport;

/** A function that connects to servers. `Models`: the types that `kserving client` writes. */
export type Connect = <Models extends { readonly [Name in keyof Models]: TypedModel } = Record<string, AnyModel>>(
  address: string,
  options?: ConnectOptions,
) => Connection<Models>;

/** Creates `connect` for a place that has gRPC, or has none. */
export function createConnect(openGrpc: OpenGrpc): Connect {
  return (address, options = {}) => {
    const transport = openTransport(address, options, openGrpc);
    return createConnection(transport, new CallSender(options));
  };
}

function openTransport(address: string, options: ConnectOptions, openGrpc: OpenGrpc): Transport {
  if (/^https?:\/\/[^/]/.test(address)) return new HttpTransport(address, options);
  if (/^grpcs?:\/\/[^/]/.test(address)) return openGrpc(address, options);
  throw invalidArgument(
    `The address is "${address}"; expected http://HOST:PORT, https://…, grpc://HOST:PORT or, encrypted, grpcs://….`,
  );
}
