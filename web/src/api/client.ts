/** The one way to the server's REST: typed by its OpenAPI document, with one shape of error. What is cached of its
 * answers, and how events change that, is `queries` and `live`. */
import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./schema";

/** What the server refused, or that it could not be reached (`code` is then `offline`). */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    readonly id: string | null = null,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export const offline = () =>
  new ApiError("offline", "The server cannot be reached. What you see may be out of date.", 0);

const RETRY_PAUSES = [250, 750, 1500, 3000];

/** A POST whose answer was lost is sent again with the same key: the server acts once and gives the first answer. */
async function steadyFetch(request: Request): Promise<Response> {
  const repeatable = request.method === "GET" || request.headers.has("idempotency-key");
  for (const pause of [...(repeatable ? RETRY_PAUSES : []), null]) {
    try {
      return await fetch(request.clone());
    } catch (error) {
      if (request.signal.aborted) throw error;
      if (pause === null) throw offline();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  throw offline();
}

const keyed: Middleware = {
  onRequest({ request }) {
    if (request.method === "POST" && !request.headers.has("idempotency-key"))
      request.headers.set("idempotency-key", crypto.randomUUID());
    return request;
  },
};

const refused: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return response;
    const body = await response
      .clone()
      .json()
      .catch(() => null);
    const said = body?.error;
    throw new ApiError(
      said?.code ?? `http_${response.status}`,
      said?.message ?? `The server answered ${response.status}.`,
      response.status,
      said?.id ?? null,
      said?.details ?? {},
    );
  },
};

const base = typeof location === "undefined" ? "http://127.0.0.1" : location.origin;

export const api = createClient<paths>({ baseUrl: base, fetch: steadyFetch });
api.use(keyed, refused);

/** The answer itself: a refusal has been thrown already. */
export async function got<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
