/** Says which idle session was completed to make room for a new one. */
import type { MadeRoom } from "@/api/types";
import { routes } from "@/app/routes";
import { toast } from "@/ui/feedback/toast";

export const madeRoomText = (ended: MadeRoom) =>
  `${ended.title ? `“${ended.title}”` : `A session with ${ended.agent}`} was idle and is completed now, to make room. Sending it a prompt resumes it.`;

export const toastMadeRoom = (ended: MadeRoom, navigate: (path: string) => void) =>
  toast(madeRoomText(ended), { action: { label: "Show", run: () => navigate(routes.session(ended.id)) } });
