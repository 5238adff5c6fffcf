/** Shows the settings that the server was started with. */
import { useServerSettings } from "@/api/queries";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { Breakable } from "@/ui/labels/Breakable";
import css from "./Settings.module.css";

export function ServerSettings() {
  return (
    <QueryResult query={useServerSettings()}>
      {(settings) => (
        <table className={css.table}>
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Value</th>
              <th scope="col">Meaning</th>
            </tr>
          </thead>
          <tbody>
            {settings.map((setting) => (
              <tr key={setting.name}>
                <th scope="row">
                  <code>
                    <Breakable text={setting.variable} />
                  </code>
                </th>
                <td>
                  <code>
                    <Breakable text={String(setting.value)} />
                  </code>
                </td>
                <td className={css.soft}>{setting.description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </QueryResult>
  );
}
