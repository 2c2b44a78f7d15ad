// In a query, "-" at the start of a word means "without"; people look for options as they are typed.
const asWords = (message) =>
  message.type === 2 ? { ...message, data: message.data.replace(/(^|\s)-+/g, "$1") } : message;

// Browsers start no worker for a page opened from disk, so the search runs in a frame there.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.documentElement.append(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.loaded = new Promise((resolve) => {
      const script = this.inside.document.createElement("script");
      script.src = url;
      script.onload = resolve;
      this.inside.document.body.append(script);
    });
  }

  async postMessage(message) {
    await this.loaded;
    this.inside.dispatchEvent(new MessageEvent("message", { data: asWords(message) }));
  }
}

class ServedWorker extends Worker {
  postMessage(message) {
    super.postMessage(asWords(message));
  }
}

window.Worker = location.protocol === "file:" ? FrameWorker : ServedWorker;
