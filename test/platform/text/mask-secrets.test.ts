import { expect, test } from "vitest";
import { maskOption, maskSecrets } from "../../../src/platform/text/mask-secrets.ts";

test.each([
  ["https://ann:pa55@host/simple", "https://***@host/simple"],
  ["https://ann:pa@55@host/a@b", "https://***@host/a@b"],
  ["cannot reach http://ghp_abc@host: no", "cannot reach http://***@host: no"],
  ["s3://AKIA:sec/ret@bucket", "s3://AKIA:sec/ret@bucket"],
  ["postgres://u:p@a, redis://:p@b", "postgres://***@a, redis://***@b"],
  ["https://h/m.onnx?token=abc&x=1", "https://h/m.onnx?token=***&x=1"],
  [
    "https://h/m?x=1&X-Amz-Signature=0fa&X-Amz-Credential=AK%2F1",
    "https://h/m?x=1&X-Amz-Signature=***&X-Amz-Credential=***",
  ],
  ["https://h/m?X-Amz-Security-Token=a/b+c=", "https://h/m?X-Amz-Security-Token=***"],
  ["https://a.blob.core.windows.net/c?sv=2024&sig=abc%3D", "https://a.blob.core.windows.net/c?sv=2024&sig=***"],
  ["https://h/m?key=abc", "https://h/m?key=***"],
  ['-o is "2:api_key=abc", but', '-o is "2:api_key=***", but'],
  ["db.password=abc def", "db.password=*** def"],
  ["authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc", "authorization: Bearer ***"],
  ["authorization=Bearer eyJhbGciOiJIUzI1NiJ9 x", "authorization=*** x"],
  ["HEADERS=authorization=Basic YTpi,x=1", "HEADERS=authorization=***,x=1"],
  ['{"options":{"hf_token":"a\\"b","device":"CPU"}}', '{"options":{"hf_token":"***","device":"CPU"}}'],
  ['{"metadata":{"authorization":"Basic YTpi","cookie":"a=b"}}', '{"metadata":{"authorization":"***","cookie":"***"}}'],
  [JSON.stringify({ msg: '{"password":"abc"}' }), JSON.stringify({ msg: '{"password":"***"}' })],
])("%j becomes %j", (text, masked) => {
  expect(maskSecrets(text)).toBe(masked);
});

test.each([
  "expected [STAGE:]KEY=VALUE, for example device=CPU",
  "Basic authentication failed",
  "--tls-key=server.key --client-key=address",
  '{"inputs":[{"name":"token_type_ids"}],"tokens":"5","tokenizer":"a.json","max_tokens=5":"x"}',
  "mail ann@example.com about a@b",
  "https://host:8080/path@2x.png",
  "the token is 5 and the password is wrong",
  "",
])("%j stays", (text) => {
  expect(maskSecrets(text)).toBe(text);
});

test("JSON with texts of clients stays JSON, with the same members", () => {
  const parts = [
    '"token":',
    '\\"token\\":',
    '"password": "',
    '"',
    "\\",
    ":",
    ",",
    '{"secret":"a"}',
    "api_key=",
    "://a:b@",
    "bearer ",
  ];
  for (const [one, other, third] of triplesOf(parts)) {
    const event = { path: `/${one}${other}`, requestId: `${other}${third}`, requestBytes: 0, error: { msg: third } };
    const masked = JSON.parse(maskSecrets(JSON.stringify(event)));
    expect(masked).toEqual({
      path: expect.any(String),
      requestId: expect.any(String),
      requestBytes: 0,
      error: { msg: expect.any(String) },
    });
  }
});

function triplesOf(parts: readonly string[]): string[][] {
  return parts.flatMap((one) => parts.flatMap((other) => parts.map((third) => [one, other, third])));
}

test("hostile texts of a megabyte take time in proportion", () => {
  for (const part of ["a-", "x://", '"password', "token=", "bearer ", "?key", "s3://a:", 'key":"\\']) {
    const text = part.repeat(1_000_000 / part.length);
    // Quadratic time would be longer than a test may take.
    expect(maskSecrets(text)).not.toBe("");
  }
});

test.each([
  ["api_token", "abc", "***"],
  ["password", "", "***"],
  ["key", "abc", "***"],
  ["s3.secret-key", "abc", "***"],
  ["accessKey", "abc", "***"],
  ["device", "CPU", "CPU"],
  ["url", "https://u:p@h/", "https://***@h/"],
  ["tokenizer", "a.json", "a.json"],
  ["max_tokens", "5", "5"],
])("the option %s=%s is shown as %s", (name, value, shown) => {
  expect(maskOption(name, value)).toBe(shown);
});
