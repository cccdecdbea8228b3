/** Functions that answer with the texts of their client, as a translator does, and so at the cost that it chooses. */
import type { ChatRequest, CompletionRequest, EmbedRequest, RerankRequest } from "kserving";

/** Below what a part of an answer may have as JSON. */
const PART = 500_000;

let open = 0;

export async function* chat({ messages }: ChatRequest): AsyncGenerator<string> {
  const text = messages.at(-1)?.text ?? "";
  if (text === "open") return yield String(open);
  open++;
  try {
    while (text === "endless") yield "on and on ";
    for (let from = 0; from < text.length; from += PART) yield text.slice(from, from + PART);
  } finally {
    open--;
  }
}

export function* complete({ prompt }: CompletionRequest): Generator<string> {
  yield prompt.slice(0, PART);
}

export function embed({ texts }: EmbedRequest): number[][] {
  return texts.map((text) => [text.length]);
}

export function rerank({ documents }: RerankRequest): number[] {
  return documents.map((text) => text.length);
}

export function transcribe({ audio }: { readonly audio: { readonly bytes: Uint8Array } }): string {
  return `${audio.bytes.length} bytes`;
}

export async function* speak(): AsyncGenerator<Uint8Array> {
  for (;;) yield Buffer.alloc(10_000);
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export function generateImage({ count }: { readonly count: number }): Uint8Array[] {
  return Array.from({ length: count }, () => Buffer.from(PIXEL, "base64"));
}
