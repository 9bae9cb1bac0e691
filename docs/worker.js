/* Search in pages that are opened from a folder: there a browser starts no worker, so the worker's
   script runs in a hidden frame instead. Served by a server, the pages do not need it. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      this.ready = new Promise((resolve) => {
        const script = inside.document.createElement("script");
        inside.postMessage = (data) => {
          this.dispatchEvent(new MessageEvent("message", { data }));
          if (this.onmessage) this.onmessage(new MessageEvent("message", { data }));
        };
        script.src = url;
        script.onload = resolve;
        inside.document.body.appendChild(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }
    terminate() {
      this.frame.remove();
    }
  };
}
