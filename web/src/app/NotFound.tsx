/** An address that means nothing. */
import { MapPinOff } from "lucide-react";
import { ButtonLink } from "@/ui/controls/Button";
import { Empty } from "@/ui/feedback/Placeholders";
import { routes } from "./routes";
import { useTitle } from "./title";

export default function Lost() {
  useTitle("Nothing here");
  return (
    <Empty
      icon={<MapPinOff />}
      heading="h1"
      title="There is nothing here"
      actions={<ButtonLink href={routes.home}>Go home</ButtonLink>}
    >
      The address may be mistyped, or what it meant was removed.
    </Empty>
  );
}
