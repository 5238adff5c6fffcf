/** Shown for addresses that belong to no view. */
import { MapPinOff } from "lucide-react";
import { ButtonLink } from "@/ui/controls/Button";
import { Empty } from "@/ui/feedback/Placeholders";
import { routes } from "./routes";
import { useTitle } from "./title";

export default function NotFound() {
  useTitle("Page not found");
  return (
    <Empty
      icon={<MapPinOff />}
      heading="h1"
      title="Page not found"
      actions={<ButtonLink href={routes.home}>Go home</ButtonLink>}
    >
      Check the address. The page may have been removed.
    </Empty>
  );
}
