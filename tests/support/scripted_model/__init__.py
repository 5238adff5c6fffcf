"""A scripted stand-in for the model services behind coding agents, so that real agents can be tested without a network.

It speaks, streaming and not, Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini. It keeps no
conversation: an answer follows from the request alone, so parallel sessions, forks and restarts need no set-up. The
script is the last text block of the last user message (agents merge an unanswered prompt with the next one):

    [[say TEXT]]            stream TEXT, a few words per chunk
    [[think TEXT]]          stream TEXT as reasoning
    [[tool NAME {json}]]    call tool NAME, wait for its result, quote it, go on
    [[tool ~NAME {json}]]   the same, with NAME as the end of an offered tool's name (agents prefix MCP tools)
    [[tool A|~B {json}]]    the first of several that is offered
    [[tool !NAME {json}]]   call NAME though it is not offered; !NAMESPACE/NAME in the Responses API
    [[and NAME {json}]]     one more call in the same response
    [[raw NAME TEXT]]       call a free-form tool (OpenAI's "custom") with TEXT
    [[slow N SECONDS]]      stream N chunks "tick i", SECONDS apart
    [[recall]]              list every user text of the conversation, its beginning; [[recall N]] for N characters
    [[tools]]               list the names of the offered tools
    [[big N]]               say N characters, in large pieces
    [[end REASON]]          end the response early: max_tokens, or refusal
    [[http STATUS KIND]]    answer with that HTTP error, of that kind if one is given; {"headers": {…}, "error": {…}}
                            after it adds headers and fields of the error
    [[hang SECONDS]]        send nothing for SECONDS
    [[gate NAME]]           send nothing until `POST /_fake/open/NAME`

In the arguments of a call, `{{name}}` is the last value of that name in what tools have returned, and `{{name*}}` are
all of them. Of a message that has no script in its last block, what follows `[[react]]` is the script.

Without a directive the answer is `You said "…". This is user turn N.`, which makes carried context and forks visible.
What agents wrap around a prompt in <tag>…</tag> is neither counted nor a script. A request that wants JSON by a schema
gets an example of it, and one that offers no tools is never answered with a call.

For tests, `GET /_fake/log` tells what each request was and what was done about it (`aborted`: the agent hung up), `GET
/_fake/last` gives the last request whole, and `POST /_fake/reset` forgets both.
"""
