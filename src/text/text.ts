/**
 * `kserving/text`: texts for models. Tokenizers as `tokenizer.json` describes them, chat templates, and what makes
 * embeddings of a model's output. The libraries are loaded with the first tokenizer.
 */
export type { ChatMessage, ChatTemplateOptions } from "./chat-template.ts";
export { type EncodedTexts, textsOf } from "./encoded-texts.ts";
export { cutDimensions, normalise, POOLING_KINDS, type PoolingKind, pool } from "./pooling.ts";
export { type SplitOptions, splitText, type TextPart } from "./split-text.ts";
export { type EncodeOptions, loadTokenizer, type TextInput, type Tokenizer } from "./tokenizer.ts";
