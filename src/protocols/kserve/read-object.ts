import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { JsonObject } from "../../tensor/codecs/json/json-value.ts";
import { parseKserveObject } from "./http-request.ts";

/** Reads an optional JSON body. */
export async function readObject(exchange: HttpExchange): Promise<JsonObject> {
  const body = await exchange.readSmallBody();
  return body.length === 0 ? {} : parseKserveObject(body, new DecodeBudget(exchange.maxMessageBytes));
}
