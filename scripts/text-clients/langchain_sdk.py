from calls import CITY, GOOD, ORIGIN, PICTURE, call, is_near
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_ollama import ChatOllama, OllamaEmbeddings
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings

TOOL = {"type": "function", "function": {"name": "weather", "description": "tells it", "parameters": CITY}}
MODELS = {
    "openai": ChatOpenAI(model="talk", base_url=f"{ORIGIN}/v1", api_key="any", max_retries=0, stream_usage=True),
    "ollama": ChatOllama(model="talk", base_url=ORIGIN, validate_model_on_init=True),
}

for name, model in MODELS.items():

    @call(f"{name}: invoke")
    def _():
        answer = model.invoke("two words")
        assert answer.content == "two words "
        assert answer.usage_metadata["total_tokens"] == 3

    @call(f"{name}: stream")
    def _():
        whole = None
        for chunk in model.stream("two words"):
            whole = chunk if whole is None else whole + chunk
        assert whole.content == "two words "
        assert whole.usage_metadata["total_tokens"] == 3

    @call(f"{name}: batch")
    def _():
        assert [each.content for each in model.batch(["a", "b"])] == ["a ", "b "]

    @call(f"{name}: tools and their results")
    def _():
        bound = model.bind_tools([TOOL])
        question = HumanMessage("weather?")
        called = bound.invoke([question])
        (found,) = called.tool_calls
        assert (found["name"], found["args"]) == ("weather", {"city": "Riga"})
        result = ToolMessage("dry", tool_call_id=found["id"])
        assert bound.invoke([question, called, result]).content == "It is dry."

    @call(f"{name}: an answer by a schema")
    def _():
        assert model.with_structured_output(CITY, method="json_schema").invoke("where") == {"city": "Riga"}

    @call(f"{name}: a picture")
    def _():
        message = HumanMessage([{"type": "image_url", "image_url": {"url": PICTURE}}])
        assert model.invoke([message]).content.startswith("image image/png")


@call("openai: several prompts in one request")
def _():
    model = OpenAI(model="talk", base_url=f"{ORIGIN}/v1", api_key="any", max_retries=0, n=2)
    answer = model.generate(["a", "b"])
    assert [[each.text for each in one] for one in answer.generations] == [["A", "A"], ["B", "B"]]


@call("openai: embeddings")
def _():
    # Else it sends token ids of OpenAI's own models.
    embeddings = OpenAIEmbeddings(
        model="embed", base_url=f"{ORIGIN}/v1", api_key="any", check_embedding_ctx_length=False
    )
    assert is_near(embeddings.embed_query("good"), GOOD)
    assert len(embeddings.embed_documents(["good", "bad"])) == 2


@call("ollama: embeddings")
def _():
    embeddings = OllamaEmbeddings(model="embed", base_url=ORIGIN)
    assert len(embeddings.embed_query("good")) == 3
    assert len(embeddings.embed_documents(["good", "bad"])) == 2
