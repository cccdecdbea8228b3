import json

import ollama
from calls import CITY, ORIGIN, PNG, call, failure

client = ollama.Client(host=ORIGIN)


def asked(content, **more):
    return {"model": "talk", "messages": [{"role": "user", "content": content}], **more}


@call("chat at once and in parts")
def _():
    assert client.chat(**asked("two words")).message.content == "two words "
    parts = list(client.chat(**asked("two words", stream=True)))
    assert "".join(part.message.content for part in parts) == "two words "
    assert (parts[-1].done, parts[-1].eval_count) == (True, 2)


@call("chat: tools and their results")
def _():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": CITY}}]
    message = client.chat(**asked("weather?", tools=tools)).message
    assert message.tool_calls[0].function.arguments == {"city": "Riga"}
    result = {"role": "tool", "tool_name": "weather", "content": "dry"}
    messages = [*asked("weather?")["messages"], message, result]
    assert client.chat(model="talk", messages=messages, tools=tools).message.content == "It is dry."


@call("chat: a picture, thoughts, an answer by a schema")
def _():
    message = {"role": "user", "content": "see", "images": [PNG]}
    assert client.chat(model="talk", messages=[message]).message.content.startswith("image image/png")
    assert client.chat(**asked("think", think=True)).message.thinking == "hm"
    assert json.loads(client.chat(**asked("where", format=CITY)).message.content) == {"city": "Riga"}


@call("generate at once and in parts")
def _():
    assert client.generate(model="talk", prompt="two words").response == "two words "
    parts = client.generate(model="talk", prompt="two words", stream=True)
    assert "".join(part.response for part in parts) == "two words "


@call("embed, embeddings")
def _():
    assert len(client.embed(model="embed", input=["good", "bad"]).embeddings) == 2
    assert len(client.embeddings(model="embed", prompt="good").embedding) == 3


@call("list, ps, show")
def _():
    assert "talk:latest" in [each.model for each in client.list().models]
    assert len(client.ps().models) > 0
    assert "completion" in client.show("talk").capabilities


@call("errors")
def _():
    assert failure(lambda: client.chat(**{**asked("x"), "model": "talc"})).status_code == 404
    assert failure(lambda: client.pull("llama")).status_code == 501
