/** An address that means nothing. */
import { MapPinOff } from "lucide-react";
import { ButtonLink } from "@/ui/Button";
import { Empty } from "@/ui/states";
import { routes } from "./routes";

export default function Lost() {
  return (
    <Empty
      icon={<MapPinOff />}
      title="There is nothing here"
      actions={<ButtonLink href={routes.home}>Go home</ButtonLink>}
    >
      The address may be mistyped, or what it meant was removed.
    </Empty>
  );
}
