import { expect, test } from "vitest";
import { certificateIdentity } from "../../../src/access/authentication/identity.ts";

interface Certificate {
  readonly subject?: { readonly CN?: unknown };
  readonly subjectaltname?: string;
}

const namesOf = (certificate: Certificate, authorized: unknown = true) =>
  certificateIdentity({ authorized, getPeerCertificate: () => certificate })?.names;

test.each<[string, Certificate, readonly string[] | undefined]>([
  ["its common name", { subject: { CN: "client1" } }, ["cn:client1"]],
  [
    "its alternative names behind that",
    {
      subject: { CN: "c" },
      subjectaltname: "DNS:a.example, URI:spiffe://b, email:a@b.example, IP Address:10.0.0.1, xDNS:x",
    },
    ["cn:c", "dns:a.example", "uri:spiffe://b", "email:a@b.example"],
  ],
  ["alternative names alone", { subjectaltname: "DNS:a.example" }, ["dns:a.example"]],
  ["none that Node had to quote", { subject: { CN: "c" }, subjectaltname: 'DNS:a, DNS:"b, DNS:root"' }, ["cn:c"]],
  ["none of two lines", { subjectaltname: "DNS:a\nb, DNS:c\n, URI:d" }, ["uri:d"]],
  ["none of several common names", { subject: { CN: ["a", "b"] } }, undefined],
  ["none of a certificate without any", { subject: {}, subjectaltname: "DNS:" }, undefined],
])("a client's certificate has %s", (_, certificate, names) => {
  expect(namesOf(certificate)).toEqual(names);
});

test("a certificate that none of our authorities has signed is no name, nor a connection without one", () => {
  for (const authorized of [false, null, "true"])
    expect(namesOf({ subject: { CN: "root" } }, authorized)).toBeUndefined();
  for (const connection of [undefined, {}, { authorized: true }])
    expect(certificateIdentity(connection)).toBeUndefined();
});

test("a connection's certificate is read once", () => {
  let reads = 0;
  const getPeerCertificate = () => ({ subject: { CN: `c${++reads}` } });
  const connection = { authorized: true, getPeerCertificate };
  for (let time = 0; time < 2; time++) expect(certificateIdentity(connection)?.names).toEqual(["cn:c1"]);
});
