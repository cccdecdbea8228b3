import cohere
from calls import ORIGIN, call, failure

ASKED = {"model": "rank", "query": "good", "documents": ["bad", "good", "great"], "top_n": 2}


@call("rerank of version 2")
def _():
    results = cohere.ClientV2(api_key="any", base_url=ORIGIN).rerank(**ASKED).results
    assert [each.index for each in results] == [1, 2]
    assert all(0.5 < each.relevance_score < 1 for each in results)


@call("documents that are cut")
def _():
    client = cohere.ClientV2(api_key="any", base_url=ORIGIN)
    asked = {**ASKED, "documents": ["bad great great", "good bad bad"], "top_n": None}
    assert [each.index for each in client.rerank(**asked).results] == [0, 1]
    assert [each.index for each in client.rerank(**asked, max_tokens_per_doc=1).results] == [1, 0]


@call("rerank of version 1, with documents")
def _():
    documents = [{"text": "bad"}, {"text": "good"}]
    client = cohere.Client(api_key="any", base_url=ORIGIN)
    results = client.rerank(**{**ASKED, "documents": documents, "return_documents": True}).results
    assert [each.index for each in results] == [1, 0]
    assert results[0].document.text == "good"


@call("errors")
def _():
    client = cohere.ClientV2(api_key="any", base_url=ORIGIN)
    missing = failure(lambda: client.rerank(**{**ASKED, "model": "rang"}, request_options={"max_retries": 0}))
    assert missing.status_code == 404
