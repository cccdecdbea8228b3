/** A program that asks a server as one client's users do, and the packages that it needs, the client first. */
interface TextClient {
  readonly program: string;
  readonly packages: readonly string[];
}

/**
 * Clients from npm and from PyPI, each unmodified. Programs are not called `openai.py`, which would hide `openai`.
 * KServe's own tests of OpenAI's routes are none of them: they call its Python classes with mocks, or need a cluster.
 */
export const TEXT_CLIENTS: readonly TextClient[] = [
  { program: "openai.mjs", packages: ["openai@7.59.0"] },
  { program: "ai-sdk.mjs", packages: ["@ai-sdk/openai-compatible@3.0.92", "ai@7.0.173"] },
  {
    program: "langchain.mjs",
    packages: ["@langchain/openai@1.6.0", "@langchain/ollama@1.3.0", "@langchain/core@1.4.0"],
  },
  { program: "ollama.mjs", packages: ["ollama@0.6.4"] },
  { program: "cohere.mjs", packages: ["cohere-ai@8.1.0"] },
  { program: "anthropic.mjs", packages: ["@anthropic-ai/sdk@1.14.0"] },
  { program: "mcp.mjs", packages: ["@modelcontextprotocol/sdk@1.32.2"] },
  { program: "openai_sdk.py", packages: ["openai==3.57.0"] },
  { program: "langchain_sdk.py", packages: ["langchain-openai==1.7.4", "langchain-ollama==1.1.0"] },
  { program: "ollama_sdk.py", packages: ["ollama==0.6.3"] },
  { program: "cohere_sdk.py", packages: ["cohere==7.3.1"] },
  { program: "anthropic_sdk.py", packages: ["anthropic==2.14.0"] },
  { program: "mcp_sdk.py", packages: ["mcp==2.3.0"] },
];

/** MCP's own suite, and the version of Node that it needs. */
export const CONFORMANCE = {
  suite: "@modelcontextprotocol/conformance@0.1.16",
  node: `node-${process.platform}-${process.arch}@22.23.3`,
};

const NO_LOGS = "tools tell of their progress; there are no logs";
const NO_QUESTIONS = "a server without sessions asks its client nothing: neither for text of a model nor for a form";
const NO_RESOURCES = "models are tools; there are no resources";
const NO_PROMPTS = "models are tools; there are no prompts";

/** Scenarios of the suite that a server of models does not have, with the reasons. */
export const EXPECTED_FAILURES: Readonly<Record<string, string>> = {
  "logging-set-level": NO_LOGS,
  "completion-complete": NO_PROMPTS,
  "tools-call-embedded-resource": NO_RESOURCES,
  "tools-call-mixed-content": NO_RESOURCES,
  "tools-call-with-logging": NO_LOGS,
  "tools-call-sampling": NO_QUESTIONS,
  "tools-call-elicitation": NO_QUESTIONS,
  "json-schema-2020-12": "a tool's schema is made of the model's inputs, and cannot be the one that the suite wants",
  "elicitation-sep1034-defaults": NO_QUESTIONS,
  "elicitation-sep1330-enums": NO_QUESTIONS,
  "resources-list": NO_RESOURCES,
  "resources-read-text": NO_RESOURCES,
  "resources-read-binary": NO_RESOURCES,
  "resources-templates-read": NO_RESOURCES,
  "resources-subscribe": NO_RESOURCES,
  "resources-unsubscribe": NO_RESOURCES,
  "prompts-list": NO_PROMPTS,
  "prompts-get-simple": NO_PROMPTS,
  "prompts-get-with-args": NO_PROMPTS,
  "prompts-get-embedded-resource": NO_PROMPTS,
  "prompts-get-with-image": NO_PROMPTS,
};
