/** Lists tokens and the browsers that are signed in, and revokes them. */
import { revokeToken, runRequest } from "@/api/actions";
import { client, tokensQuery, useTokens } from "@/api/queries";
import type { Token } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { Badge } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import css from "../Settings.module.css";

async function revoke(token: Token): Promise<void> {
  await runRequest(() => revokeToken(token.id));
  await client.invalidateQueries(tokensQuery);
}

export function AccessSettings() {
  return (
    <>
      <QueryResult query={useTokens()}>
        {(tokens) => (
          <ul className={css.list}>
            {tokens.map((token) => (
              <li key={token.id} className={css.card}>
                <div className={css.row}>
                  <h2 className={`${css.grow} ${css.name}`}>{token.name}</h2>
                  <Badge>{`${token.user} · ${token.role}`}</Badge>
                  {token.current && token.kind === "page" && <Badge>This browser</Badge>}
                  {token.kind !== "server" && (
                    <Button
                      size="small"
                      aria-label={`Revoke ${token.current ? "this browser" : token.name}`}
                      onClick={() => void revoke(token)}
                    >
                      Revoke
                    </Button>
                  )}
                </div>
                <p className={css.soft}>
                  {token.kind === "page" ? token.origin : "For commands and scripts, and in the sign-in link"}
                  {token.lastUsedAt && (
                    <>
                      {" · "}used <Time at={token.lastUsedAt} />
                    </>
                  )}
                  {token.kind === "user" && token.expiresAt && (
                    <> · expires {new Date(token.expiresAt).toLocaleDateString()}</>
                  )}
                </p>
              </li>
            ))}
          </ul>
        )}
      </QueryResult>
      <p className={css.soft}>
        To replace the server token, run <code>bough token rotate</code>.
      </p>
    </>
  );
}
