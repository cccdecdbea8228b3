import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";
import { API_ADDRESS, type ClusterPlace, NODE_ADDRESS } from "./cluster-place.ts";

const NAMES = [
  ...["127.0.0.1", NODE_ADDRESS, API_ADDRESS].map((address) => `IP:${address}`),
  ...["localhost", "kubernetes.default.svc"].map((name) => `DNS:${name}`),
];
const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** Makes an authority for a day, one certificate of an administrator for all parts, and the key of service accounts. */
export function writeCertificates(place: ClusterPlace): void {
  const { authority, authorityKey, certificate, key, accountKey, folder } = place;
  const openssl = (...words: readonly string[]) => runCommand("openssl", words);
  openssl("req", "-x509", ...KEY, "-days", "1", "-subj", "/CN=authority", "-keyout", authorityKey, "-out", authority);
  const request = join(folder, "admin.csr");
  openssl("req", ...KEY, "-subj", "/O=system:masters/CN=admin", "-keyout", key, "-out", request);
  const extensions = join(folder, "admin.ext");
  writeFileSync(extensions, `subjectAltName=${NAMES.join(",")}\nextendedKeyUsage=serverAuth,clientAuth\n`);
  const signed = ["-CA", authority, "-CAkey", authorityKey, "-CAcreateserial", "-days", "1", "-extfile", extensions];
  openssl("x509", "-req", "-in", request, ...signed, "-out", certificate);
  openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", accountKey);
}
