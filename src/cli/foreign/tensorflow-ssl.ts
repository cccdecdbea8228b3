import { placeText } from "../../codecs/config/config-node.ts";
import { parseTextFormat } from "../../codecs/config/parse-text-format.ts";
import { invalidArgument } from "../../errors.ts";
import { readConfigText } from "../../repository/config/config-source.ts";
import type { FieldTable } from "../../repository/config/field-table.ts";
import { Findings } from "../../repository/config/findings.ts";
import { readFields } from "../../repository/config/read-fields.ts";

/** https://github.com/tensorflow/serving/blob/master/tensorflow_serving/config/ssl_config.proto */
const SSL_FIELDS = {
  server_key: { type: "text", required: true },
  server_cert: { type: "text", required: true },
  custom_ca: { type: "text" },
  client_verify: { type: "boolean" },
} as const satisfies FieldTable;

/** PEM texts of an `ssl_config_file`. */
export interface SslConfig {
  readonly cert: string;
  readonly key: string;
  /** Given where clients need a certificate. */
  readonly clientCa?: string;
}

/**
 * Reads an `ssl_config_file`. Throws `invalid_argument` with the place of what cannot be read or does not fit together,
 * `failed_precondition` for a file that cannot be.
 */
export async function readSslConfig(file: string): Promise<SslConfig> {
  const findings = new Findings();
  const node = parseTextFormat(await readConfigText(file), file);
  const fields = readFields(node, SSL_FIELDS, { findings, whose: "The ssl_config_file" });
  findings.assertNone();
  const { server_key: key = "", server_cert: cert = "", custom_ca: ca = "", client_verify = false } = fields ?? {};
  const texts = { server_key: key, server_cert: cert, ...(client_verify && { custom_ca: ca }) };
  for (const [name, text] of Object.entries(texts)) {
    if (!text.includes("-----BEGIN "))
      throw invalidArgument(
        `${placeText(node.place)}: "${name}" is not a text in PEM form; expected the content of a PEM file, which begins with -----BEGIN.`,
      );
  }
  return { cert, key, ...(client_verify && { clientCa: ca }) };
}
