import { expect, test } from "vitest";
import { signV4 } from "../../../src/storage/s3/sign-v4.ts";

// The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
const KEY = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" };
const REQUEST = { method: "GET", region: "us-east-1", now: new Date("2013-05-24T00:00:00Z") } as const;

test.each([
  ["/test.txt", { range: "bytes=0-9" }, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"],
  ["/?max-keys=2&prefix=J", {}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"],
])("the signature of GET %s is Amazon's", (path, headers, signature) => {
  const url = new URL(path, "https://examplebucket.s3.amazonaws.com");
  expect(signV4({ ...REQUEST, url, headers }, KEY).authorization).toMatch(`Signature=${signature}`);
});
