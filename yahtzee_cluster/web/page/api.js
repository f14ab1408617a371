/** The questions that the page asks the server. */

const SESSION = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

/**
 * The answer to a question. `onProgress` is called with the share that is done while it is worked out; `signal` gives
 * it up. A refusal is thrown as an Error with the reason.
 */
export async function ask(kind, question, { signal, onProgress } = {}) {
  const response = await fetched(`api/${kind}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: onProgress ? "application/x-ndjson" : "application/json" },
    body: JSON.stringify({ session: SESSION, ...question }),
    signal,
  });
  if (response.headers.get("content-type")?.startsWith("application/x-ndjson")) return read(response, onProgress);
  return checked(await response.json());
}

/** What the server knows by itself: games, strategies, and whether it keeps games. */
export async function get(path) {
  return checked(await (await fetched(path)).json());
}

/** Keep a game in the server's folder. */
export async function keep(name, rules, record) {
  const response = await fetched(`api/games/${encodeURIComponent(name)}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ rules, record }),
  });
  return checked(await response.json());
}

/** The response to a request; an error says that there is none, unless it was given up. */
async function fetched(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    throw isGivenUp(error) ? error : new Error("The server does not answer. Is it still running?");
  }
}

async function read(response, onProgress) {
  let text = "";
  const decoder = new TextDecoder();
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      if (!message.progress) return checked(message);
      onProgress(message.progress.share);
    }
    if (done) throw new Error("the server has ended");
  }
}

function checked(answer) {
  if (answer.error) throw new Error(answer.error);
  return answer;
}

/** Whether an error only says that nobody waits for the answer any more. */
export function isGivenUp(error) {
  return error.name === "AbortError";
}
