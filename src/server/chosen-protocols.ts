import { isChosenProtocol } from "../platform/limits/settings/protocol-settings.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { HttpError } from "../proxy/http-errors.ts";
import type { CreateHttpProtocol, HttpProtocol } from "../proxy/http-route.ts";

/** Names of those whose paths are TensorFlow Serving's, too: left out, they are asked last. */
const SHARING: readonly string[] = ["kserve-v1", "simple-tensorflow-serving"];

/**
 * The protocols, of which those that a setting leaves out have no methods over gRPC, and say over HTTP which setting it
 * is.
 */
export function chosenProtocols(all: readonly Protocol[], setting: string): readonly Protocol[] {
  const chosen = all.map((protocol) => {
    const { name, http } = protocol;
    if (isChosenProtocol(name, setting)) return protocol;
    return { name, ...(http && { http: turnedOff(name, http) }) };
  });
  const isLast = (protocol: Protocol) => SHARING.includes(protocol.name) && !all.includes(protocol);
  return [...chosen.filter((protocol) => !isLast(protocol)), ...chosen.filter(isLast)];
}

function turnedOff(name: string, create: CreateHttpProtocol): CreateHttpProtocol {
  return (dependencies) => {
    const { inference, routes = [], refuse: _, answerOptions: __, ...rest } = create(dependencies);
    const refusal = () => new HttpError(404, `The protocol ${name} is not served here (--protocols).`);
    const answer = async () => {
      throw refusal();
    };
    return {
      ...rest,
      inference: inference.map((route) => ({
        ...{ ...route, isUntold: true as const },
        find: (url) => (route.find(url) === undefined ? undefined : answer),
      })),
      // A path for some clients alone has another owner, too.
      routes: routes.filter(({ takes }) => takes === undefined).map((route) => ({ ...route, answer })),
      refuse: refusal,
    } satisfies HttpProtocol;
  };
}
