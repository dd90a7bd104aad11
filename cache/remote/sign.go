package remote

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gnvcc/cache"
)

// Signatures: ed25519 over the index, which has the hashes of everything else. Keys are the files
// that openssl makes:
//
//	openssl genpkey -algorithm ed25519 -out key.pem        the publisher's
//	openssl pkey -in key.pem -pubout -out team.pub         what readers have; one file may hold several

// What stands before the key's 32 bytes in DER (RFC 8410). crypto/x509, which reads all the other
// kinds too, would cost every start of gnvcc time.
var (
	privateHead = []byte("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20")
	publicHead  = []byte("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00")
)

// signedWhat goes before the index in what is signed: a signature of something else is none of an
// index.
const signedWhat = "gnvcc index\n"

const (
	signAdvice = "openssl genpkey -algorithm ed25519 -out key.pem makes one"
	keysAdvice = "openssl pkey -in key.pem -pubout writes one"
	maxKeys    = 1 << 20 // bytes
)

// Sign gives the signature of an index by the private key in a file.
func Sign(index []byte, keyFile string) (string, error) {
	text, err := cache.ReadRegular(keyFile, maxKeys)
	if err != nil {
		return "", fmt.Errorf("read the key to sign with: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" || !bytes.HasPrefix(block.Bytes, privateHead) ||
		len(block.Bytes) != len(privateHead)+ed25519.SeedSize {
		return "", fmt.Errorf("%s has no ed25519 private key: %s", keyFile, signAdvice)
	}
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others may read the private key %s (mode %04o): chmod 600 it", keyFile,
			info.Mode().Perm())
	}
	key := ed25519.NewKeyFromSeed(block.Bytes[len(privateHead):])
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key,
		append([]byte(signedWhat), index...))), nil
}

// Keys are the public keys of those who are believed.
type Keys []ed25519.PublicKey

// ReadKeys reads them from a file.
func ReadKeys(path string) (Keys, error) {
	text, err := cache.ReadRegular(path, maxKeys)
	if err != nil {
		return nil, fmt.Errorf("read the keys of publishers: %w", err)
	}
	var keys Keys
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "PUBLIC KEY" || !bytes.HasPrefix(block.Bytes, publicHead) ||
			len(block.Bytes) != len(publicHead)+ed25519.PublicKeySize {
			return nil, fmt.Errorf("%s has a block that is no ed25519 public key (%s): %s", path,
				block.Type, keysAdvice)
		}
		keys = append(keys, bytes.Clone(block.Bytes[len(publicHead):]))
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no public key: %s", path, keysAdvice)
	}
	return keys, nil
}

// errUnsigned says that an artefact has no signature at all.
var errUnsigned = errors.New("it is not signed")

// Has reports whether a key, as Verify names it, is one of them.
func (keys Keys) Has(name string) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool {
		return hex.EncodeToString(k) == name
	})
}

// Verify says which of the keys has signed an index.
func (keys Keys) Verify(index []byte, signature string) (string, error) {
	signature = strings.TrimSpace(signature)
	if signature == "" {
		return "", errUnsigned
	}
	sum, err := base64.StdEncoding.DecodeString(signature)
	if err == nil {
		for _, k := range keys {
			if ed25519.Verify(k, append([]byte(signedWhat), index...), sum) {
				return hex.EncodeToString(k), nil
			}
		}
	}
	return "", errors.New("its signature is by none of the keys that are believed")
}
