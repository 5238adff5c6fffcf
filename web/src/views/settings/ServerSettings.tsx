/** Shows the settings that the server was started with. */
import { useServerSettings } from "@/api/queries";
import { QueryResult } from "@/ui/feedback/Placeholders";
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
            {settings.map((one) => (
              <tr key={one.name}>
                <th scope="row">
                  <code>{one.variable}</code>
                </th>
                <td>
                  <code>{String(one.value)}</code>
                </td>
                <td className={css.soft}>{one.description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </QueryResult>
  );
}
