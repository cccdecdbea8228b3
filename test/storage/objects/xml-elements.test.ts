import { expect, test } from "vitest";
import { xmlElements, xmlText } from "../../../src/storage/objects/xml-elements.ts";
import { openStorage } from "../open-storage.ts";
import { useS3 } from "../set-env.ts";
import { startS3 } from "../start-s3.ts";

test.each([
  ["no end", "<Contents>".repeat(30_000)],
  ["no end of their start tags", "<Contents ".repeat(150_000)],
  ["one end for all start tags", `${"<Contents ".repeat(150_000)}/>`],
  ["longer names", `${"<ContentsOf".repeat(150_000)}>`],
])("a list of S3 whose elements have %s costs no more time than another one", async (_, xml) => {
  const s3 = await startS3("toy-xml", {});
  s3.fault = (_, response) => {
    response.end(`<ListBucketResult>${xml}</ListBucketResult>`);
    return true;
  };
  useS3(s3.endpoint);
  const before = process.cpuUsage();
  await expect(openStorage().fetch("s3://toy-xml/m")).rejects.toThrow(/cannot be read/);
  const { user } = process.cpuUsage(before);
  expect(user / 1e6).toBeLessThan(0.5);
});

test("elements with attributes, empty ones and ones of longer names are told apart", () => {
  const xml = '<Blobs><Blob a="1">one</Blob><Blob/><Blob b="/">two</Blob><Blob /></Blobs>';
  expect(xmlElements(xml, "Blob")).toEqual(["one", "", "two", ""]);
  expect(xmlText(xml, "Other")).toBeUndefined();
});
