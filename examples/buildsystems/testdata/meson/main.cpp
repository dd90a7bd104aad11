void relax_once(const float *in, float *out, int width, int height);

int main() {
    relax_once(nullptr, nullptr, 256, 256);
    return 0;
}
