import anthropic
from calls import CITY, ORIGIN, PNG, call, failure

client = anthropic.Anthropic(base_url=ORIGIN, api_key="any", max_retries=0)
TOOLS = [{"name": "weather", "input_schema": CITY}]


def asked(content, **more):
    return {"model": "talk", "max_tokens": 100, "messages": [{"role": "user", "content": content}], **more}


@call("messages at once")
def _():
    answer = client.messages.create(**asked("two words", system="be brief"))
    assert (answer.content[0].text, answer.stop_reason) == ("two words ", "end_turn")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (2, 2)


@call("messages in parts")
def _():
    with client.messages.stream(**asked("two words")) as stream:
        assert "".join(stream.text_stream) == "two words "


@call("tools, in parts, and their results")
def _():
    with client.messages.stream(**asked("weather?", tools=TOOLS)) as stream:
        streamed = stream.get_final_message()
    for called in (client.messages.create(**asked("weather?", tools=TOOLS)), streamed):
        use = next(each for each in called.content if each.type == "tool_use")
        assert (use.name, use.input, called.stop_reason) == ("weather", {"city": "Riga"}, "tool_use")
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "dry"}]}
        messages = [*asked("weather?")["messages"], {"role": "assistant", "content": called.content}, result]
        answer = client.messages.create(model="talk", max_tokens=100, tools=TOOLS, messages=messages)
        assert answer.content[0].text == "It is dry."


@call("a picture, thoughts")
def _():
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    answer = client.messages.create(**asked([{"type": "image", "source": source}]))
    assert answer.content[0].text.startswith("image image/png")
    assert [each.type for each in client.messages.create(**asked("think")).content] == ["thinking", "text"]


@call("models")
def _():
    assert "talk" in [each.id for each in client.models.list()]


@call("errors")
def _():
    assert isinstance(failure(lambda: client.messages.create(**{**asked("x"), "model": "talc"})), anthropic.NotFoundError)
    assert isinstance(failure(lambda: client.messages.create(**asked("fail"))), anthropic.InternalServerError)
