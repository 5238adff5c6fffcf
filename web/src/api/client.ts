/** The client of the server's REST API, typed by its OpenAPI document, with one kind of error. `queries` caches responses,
 * `live` updates them by events. */
import createClient, { type Middleware } from "openapi-fetch";
import { withoutFields } from "@/lib/refusals";
import { keyHeaders } from "./pageKey";
import type { paths } from "./schema";

/** A request that the server refused, or that did not reach it (`code` is then `offline`). */
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

export const offlineError = () =>
  new ApiError("offline", "The server cannot be reached. The page may be out of date.", 0);

const RETRY_PAUSES = [250, 750, 1500, 3000];
/** A prompt is worth waiting for while a server restarts. */
const KEYED_RETRY_PAUSES = [...RETRY_PAUSES, 5000, 8000];

/** Repeats requests that got no response. A repeated POST has the same key, so the server acts once and returns the first
 * response. */
async function retryingFetch(request: Request): Promise<Response> {
  const keyed = request.headers.has("idempotency-key");
  const pauses = keyed ? KEYED_RETRY_PAUSES : request.method === "GET" ? RETRY_PAUSES : [];
  for (const pause of [...pauses, null]) {
    try {
      return await fetch(request.clone());
    } catch (error) {
      if (request.signal.aborted) throw error;
      if (pause === null) throw offlineError();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  throw offlineError();
}

const withHeaders: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(keyHeaders())) request.headers.set(name, value);
    if (request.method === "POST" && !request.headers.has("idempotency-key"))
      request.headers.set("idempotency-key", crypto.randomUUID());
    return request;
  },
};

async function refusal(response: Response): Promise<ApiError> {
  const body = await response
    .clone()
    .json()
    .catch(() => null);
  const error = body?.error;
  return new ApiError(
    error?.code ?? `http_${response.status}`,
    error?.message ? withoutFields(error.message) : `The server answered ${response.status}.`,
    response.status,
    error?.id ?? null,
    error?.details ?? {},
  );
}

const refused: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return response;
    throw await refusal(response);
  },
};

const base = typeof location === "undefined" ? "http://127.0.0.1" : location.origin;

export const api = createClient<paths>({ baseUrl: base, fetch: retryingFetch });
api.use(withHeaders, refused);

/** Fetches a file, which links and images cannot do: they send no key. */
export async function fetchFile(path: string): Promise<Blob> {
  const response = await retryingFetch(new Request(base + path, { headers: keyHeaders() }));
  if (!response.ok) throw await refusal(response);
  return response.blob();
}

/** Returns the data of a response; a refusal was thrown before. */
export async function dataOf<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
