import type { AccessPolicy } from "../../access/access-policy.ts";
import { invalidArgument } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute, PathParameters } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { chooseSignature } from "../../signature/choose-signature.ts";
import type { CLIENTS, ClientLanguage } from "./clients/clients.ts";
import { endpointOf } from "./endpoint.ts";
import { exampleData } from "./example-data.ts";
import { plainJsonText } from "./plain-json-text.ts";

const MODEL = "/v1/models/:name";
const DEFAULT_LANGUAGE = "bash";

/** The routes that give an example of a request to a model, and programs that send it. */
export function clientRoutes(service: InferenceService, policy: Pick<AccessPolicy, "isProxy">): readonly HttpRoute[] {
  const answerJson = async ({ name = "" }: PathParameters) => toJson(await exampleOf(service, name));
  const answerClient = async (exchange: HttpExchange, parameters: PathParameters): Promise<HttpAnswer> => {
    const { CLIENTS: clients } = await import("./clients/clients.ts");
    const language = languageOf(exchange.request.url ?? "", clients);
    if (language === "json") return answerJson(parameters);
    const { name = "" } = parameters;
    const json = `{"model_name": ${plainJsonText(name)}, "data": ${await exampleOf(service, name)}}`;
    const program = clients[language]({ endpoint: endpointOf(exchange.request, policy), json });
    return { contentType: "text/plain; charset=utf-8", body: Buffer.from(program) };
  };
  return [
    { method: "GET", path: `${MODEL}/gen_json`, kind: "read", answer: (_, parameters) => answerJson(parameters) },
    { method: "GET", path: `${MODEL}/gen_client`, kind: "read", answer: answerClient },
  ];
}

async function exampleOf(service: InferenceService, model: string): Promise<string> {
  const lease = await service.acquire({ model });
  lease.release();
  return exampleData(chooseSignature("", lease.description.signatures)?.spec ?? {});
}

function toJson(data: string): HttpAnswer {
  return { contentType: "application/json", body: Buffer.from(`{"data": ${data}}\n`) };
}

function languageOf(url: string, clients: typeof CLIENTS): ClientLanguage | "json" {
  const languages = [...Object.keys(clients), "json"];
  const query = new URLSearchParams(url.includes("?") ? url.slice(url.indexOf("?")) : "");
  const language = query.get("language") ?? DEFAULT_LANGUAGE;
  if (languages.includes(language)) return language as ClientLanguage | "json";
  throw invalidArgument(`The language is "${language}"; expected ${languages.join(", ")}.`);
}
