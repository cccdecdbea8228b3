import asyncio
import json

import openai
from calls import CITY, GOOD, ORIGIN, PICTURE, PNG, WAV, call, failure, is_near
from pydantic import BaseModel

client = openai.OpenAI(base_url=f"{ORIGIN}/v1", api_key="any", max_retries=0)
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": CITY}}]


class Place(BaseModel):
    city: str


def asked(content, **more):
    return {"model": "talk", "messages": [{"role": "user", "content": content}], **more}


@call("chat at once")
def _():
    answer = client.chat.completions.create(**asked("two words"))
    assert answer.choices[0].message.content == "two words "
    assert answer.usage.total_tokens == 3


@call("chat in parts")
def _():
    chunks = list(client.chat.completions.create(**asked("two words", stream=True, stream_options={"include_usage": True})))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "two words "
    assert chunks[-1].usage.total_tokens == 3
    with client.chat.completions.stream(**asked("two words")) as stream:
        assert stream.get_final_completion().choices[0].message.content == "two words "


@call("chat in parts, with asyncio")
def _():
    async def ask():
        async with openai.AsyncOpenAI(base_url=f"{ORIGIN}/v1", api_key="any", max_retries=0) as own:
            stream = await own.chat.completions.create(**asked("two words", stream=True))
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(ask()) == "two words "


@call("chat: tools and their results, at once and in parts")
def _():
    message = client.chat.completions.create(**asked("weather?", tools=TOOLS)).choices[0].message
    with client.chat.completions.stream(**asked("weather?", tools=TOOLS)) as stream:
        streamed = stream.get_final_completion().choices[0].message
    for each in (message, streamed):
        assert json.loads(each.tool_calls[0].function.arguments) == {"city": "Riga"}
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "dry"}
    messages = [*asked("weather?")["messages"], message, result]
    assert client.chat.completions.create(model="talk", messages=messages, tools=TOOLS).choices[0].message.content == "It is dry."


@call("chat: an answer by a schema")
def _():
    assert client.chat.completions.parse(**asked("where", response_format=Place)).choices[0].message.parsed == Place(city="Riga")


@call("chat: a picture")
def _():
    content = [{"type": "image_url", "image_url": {"url": PICTURE}}]
    assert client.chat.completions.create(**asked(content)).choices[0].message.content.startswith("image image/png")


@call("responses at once and in parts")
def _():
    assert client.responses.create(model="talk", input="two words").output_text == "two words "
    with client.responses.stream(model="talk", input="two words") as stream:
        assert stream.get_final_response().output_text == "two words "


@call("completions at once and in parts")
def _():
    assert client.completions.create(model="talk", prompt="ab").choices[0].text == "AB"
    parts = client.completions.create(model="talk", prompt="ab", stream=True)
    assert "".join(part.choices[0].text for part in parts) == "AB"


@call("embeddings in base64 and as numbers")
def _():
    for more in ({}, {"encoding_format": "float"}):
        data = client.embeddings.create(model="embed", input=["good", "bad"], **more).data
        assert is_near(data[0].embedding, GOOD)


@call("audio: transcriptions, translations, speech")
def _():
    file = ("a.wav", WAV)
    assert client.audio.transcriptions.create(model="talk", file=file).text == "audio/wav of 16 bytes"
    more = {"response_format": "verbose_json", "timestamp_granularities": ["segment"]}
    assert client.audio.transcriptions.create(model="talk", file=file, **more).segments[0].text == "a sound"
    assert "00:00:01,500" in client.audio.transcriptions.create(model="talk", file=file, response_format="srt")
    events = list(client.audio.transcriptions.create(model="talk", file=file, stream=True))
    assert events[-1].text == "audio/wav of 16 bytes"
    assert client.audio.translations.create(model="talk", file=file).text == "audio/wav of 16 bytes"
    with client.audio.speech.with_streaming_response.create(model="talk", voice="alloy", input="hi", response_format="wav") as answer:
        assert answer.read().startswith(b"RIFF")


@call("images: generations")
def _():
    data = client.images.generate(model="talk", prompt="a dot", n=2).data
    assert [each.b64_json for each in data] == [PNG, PNG]


@call("models")
def _():
    assert {"talk", "embed"} <= {each.id for each in client.models.list()}
    assert client.models.retrieve("talk").id == "talk"


@call("errors")
def _():
    missing = failure(lambda: client.chat.completions.create(**{**asked("x"), "model": "talc"}))
    assert isinstance(missing, openai.NotFoundError) and missing.code == "model_not_found"
    assert isinstance(failure(lambda: client.chat.completions.create(**asked("fail"))), openai.InternalServerError)
    tokens = failure(lambda: client.embeddings.create(model="embed", input=[[1, 2]]))
    assert isinstance(tokens, openai.BadRequestError)
